package torus

import (
	"fmt"
	"slices"
)

// Swap exchanges the cables of two ports: each is plugged in where the other
// should be. Nobody knows until it is discovered.
func (p *Pod) Swap(a, b Port) {
	if p.plug == nil {
		p.plug = map[Port]Port{}
	}
	x, y := p.socket(a), p.socket(b)
	p.plug[a], p.plug[b] = y, x
}

// socket returns where the cable of a port is plugged in, named by the port that
// should be there.
func (p *Pod) socket(port Port) Port {
	if s, ok := p.plug[port]; ok {
		return s
	}
	return port
}

// plugged returns the port whose cable is in a socket.
func (p *Pod) plugged(socket Port) Port {
	for port, s := range p.plug {
		if s == socket {
			return port
		}
	}
	return socket
}

// partner returns the socket that a socket is connected to; false if none.
func (p *Pod) partner(s Port) (Port, bool) {
	c := p.from[s.Number()][s.Cube]
	if s.Out {
		c = p.to[s.Number()][s.Cube]
	}
	return Port{c, s.Switch, !s.Out}, c >= 0
}

// Wiring is how the chips of a job are really joined.
type Wiring struct {
	t     *Torus
	cubes []int
	// found holds by chip, dimension and direction, up first, the port of the
	// chip at the other end: its number in the same order, -1 where there is
	// none, -2 where it is of no cube of the job.
	found []int32
}

// Wire follows the cables and connections of a job's cubes from chip to chip,
// whose numbers are those of the torus' nodes. Links inside cubes are as they
// should be. It fails where the torus is not made of these cubes.
func (p *Pod) Wire(t *Torus, cubes []int) (*Wiring, error) {
	if _, err := Adjacent(t, cubes); err != nil {
		return nil, err
	}
	w := &Wiring{t, slices.Clone(cubes), make([]int32, t.nodes*len(t.Dims)*2)}
	at := map[Port]int32{} // the chip's port behind a cube's
	for i := range w.found {
		if port, ok := w.port(int32(i)); ok {
			at[port] = int32(i)
		}
	}
	for i := range w.found {
		port, ok := w.port(int32(i))
		if !ok {
			w.found[i] = w.wanted(int32(i))
			continue
		}
		w.found[i] = -1
		if far, ok := p.partner(p.socket(port)); ok {
			if k, mine := at[p.plugged(far)]; mine {
				w.found[i] = k
			} else {
				w.found[i] = -2
			}
		}
	}
	return w, nil
}

// place splits the number of a chip's port.
func (w *Wiring) place(i int32) (node int32, dim int, up bool) {
	d := int32(2 * len(w.t.Dims))
	return i / d, int(i%d) / 2, i%2 == 0
}

// wanted returns the port at the other end that there should be.
func (w *Wiring) wanted(i int32) int32 {
	node, dim, up := w.place(i)
	to, _ := w.t.Next(node, dim, up)
	k := to*int32(2*len(w.t.Dims)) + int32(2*dim)
	if up {
		k++ // it is entered by the port down
	}
	return k
}

// port returns the cube's port that a chip's leads to; false inside the cube.
func (w *Wiring) port(i int32) (Port, bool) {
	node, dim, up := w.place(i)
	if c := w.t.Coord(node, dim) % Side; up && c != Side-1 || !up && c != 0 {
		return Port{}, false
	}
	n := 0
	for d := range w.t.Dims {
		n = n*(w.t.Dims[d]/Side) + w.t.Coord(node, d)/Side
	}
	return Port{w.cubes[n], w.t.SwitchOf(node, dim), up}, true
}

// Fault is a link that is not as it was asked for.
type Fault struct {
	Port, Want Port // which should be joined
	Found      Port // what Port is joined to instead; see Dark
	// Dark: nothing is at the other end. Foreign: a chip of no cube of the job
	// is. Found is not set in either case.
	Dark, Foreign bool
	// Other is the port that has what Port should have, where both are each
	// other's: then the cables of these two, or of Want and Found, are swapped.
	Other   Port
	Swapped bool
}

// String says what is wrong, for people.
func (f Fault) String() string {
	switch {
	case f.Dark:
		return fmt.Sprintf("port %s should lead to %s: nothing is there", f.Port, f.Want)
	case f.Foreign:
		return fmt.Sprintf("port %s should lead to %s: it leads to a cube of another job", f.Port, f.Want)
	case f.Swapped:
		return fmt.Sprintf("port %s should lead to %s and leads to %s: the fibres of %s and %s are swapped, or those of %s and %s",
			f.Port, f.Want, f.Found, f.Port, f.Other, f.Want, f.Found)
	}
	return fmt.Sprintf("port %s should lead to %s and leads to %s", f.Port, f.Want, f.Found)
}

// Discover walks the wiring breadth first from the first chip, as chips know
// their neighbours (Sec. 3.5), and returns every link that it finds unlike the
// request, each once, in the order in which it comes to them. Chips that it does
// not reach have faults at all their links.
func (w *Wiring) Discover() []Fault {
	degree := int32(2 * len(w.t.Dims))
	seen := make([]bool, w.t.nodes)
	var faults []Fault
	for start := range int32(w.t.nodes) {
		if seen[start] {
			continue
		}
		seen[start] = true
		queue := []int32{start}
		for head := 0; head < len(queue); head++ {
			for k := range degree {
				i := queue[head]*degree + k
				if to := w.found[i]; to >= 0 && !seen[to/degree] {
					seen[to/degree] = true
					queue = append(queue, to/degree)
				}
				if f, bad := w.fault(i); bad && !slices.ContainsFunc(faults, func(g Fault) bool { return same(f, g) }) {
					faults = append(faults, f)
				}
			}
		}
	}
	return faults
}

// fault compares the port i with what was asked for.
func (w *Wiring) fault(i int32) (Fault, bool) {
	want := w.wanted(i)
	if w.found[i] == want {
		return Fault{}, false
	}
	var f Fault
	f.Port, _ = w.port(i)
	f.Want, _ = w.port(want)
	switch k := w.found[i]; k {
	case -1:
		f.Dark = true
	case -2:
		f.Foreign = true
	default:
		f.Found, _ = w.port(k)
		if o := w.found[want]; o >= 0 && w.wanted(k) == o {
			f.Other, _ = w.port(o)
			f.Swapped = true
		}
	}
	return f, true
}

// same reports whether two faults are of one link or, of a swap, of the same
// four ports.
func same(f, g Fault) bool {
	ports := func(f Fault) []Port {
		if f.Swapped {
			return []Port{f.Port, f.Want, f.Found, f.Other}
		}
		return []Port{f.Port, f.Want}
	}
	a, b := ports(f), ports(g)
	return len(a) == len(b) && !slices.ContainsFunc(a, func(p Port) bool { return !slices.Contains(b, p) })
}
