package links

// This file evaluates keys in Links: the torus, its failed parts, and the sizes of queues.

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"sim/engine/units"
	"sim/fabric/torus"
)

// Shape builds the torus. On an error it also returns the invalid key.
func (l *Links) Shape() (t *torus.Torus, key string, err error) {
	if t, err = torus.New(l.Dims...); err != nil {
		return nil, "fabric.dims", err
	}
	if t.Cube, err = l.cube(); err != nil {
		return nil, "fabric.cube", err
	}

	for _, name := range l.Open {
		d := 0
		for d < len(l.Dims) && torus.DimName(d) != name {
			d++
		}
		if d == len(l.Dims) {
			return nil, "fabric.open", fmt.Errorf("%s has no dimension %s", t, name)
		}
		if err = t.Mesh(d); err != nil {
			return nil, "fabric.open", err
		}
	}
	if l.Twist != "" {
		if err = t.Twist(l.Twist); err != nil {
			return nil, "fabric.twist", err
		}
	}
	if len(l.Shift) > 0 {
		if err = t.SetShift(l.Shift); err != nil {
			return nil, "fabric.shift", err
		}
	}
	return t, "", nil
}

// cube returns the cubes that make the torus. It returns an error if they do not have three
// sides.
func (l *Links) cube() (torus.Box, error) {
	switch len(l.Cube) {
	case 0:
		return torus.TPUCube, nil
	case 3:
		return torus.Box(l.Cube), nil
	}
	return torus.Box{}, fmt.Errorf("a cube of %d dimensions; write three sides", len(l.Cube))
}

// Twisted reports whether the torus is twisted.
func (l *Links) Twisted() bool {
	t, _, err := l.Shape()
	return err == nil && t.Shift != nil
}

// Cubic reports whether the torus is made of cubes that optical switches join.
func (l *Links) Cubic() bool {
	t, _, err := l.Shape()
	return err == nil && torus.CheckCubic(t) == nil
}

// Faults returns the parts that are down or drained. On an error it also returns the invalid key.
func (l *Links) Faults() (f torus.Faults, key string, err error) {
	if f.Switches, err = l.failedSwitches(); err != nil {
		return f, "fabric.failed_ocs", err
	}

	// Links that are down, and links that are drained.
	for _, list := range []struct {
		key   string
		names []string
		to    *[]torus.Hop
	}{{"fabric.failed_links", l.FailedLinks, &f.Links}, {"fabric.drained_links", l.DrainedLinks, &f.Drained}} {
		for _, name := range list.names {
			h, err := torus.ParseHop(name)
			if err != nil {
				return f, list.key, err
			}
			*list.to = append(*list.to, h)
		}
	}

	f.Machines = l.FailedMachines
	for _, c := range l.FailedChips {
		f.Chips = append(f.Chips, int32(c))
	}
	return f, "", nil
}

// failedSwitches returns the optical switches that are down.
func (l *Links) failedSwitches() (down []torus.Switch, err error) {
	cube, err := l.cube()
	for _, name := range l.FailedOCS {
		s, nameErr := torus.ParseSwitch(name, cube)
		down, err = append(down, s), cmp.Or(err, nameErr)
	}
	return down, err
}

// Faulty reports whether any part is down or drained.
func (l *Links) Faulty() bool {
	return len(l.FailedOCS)+len(l.FailedLinks)+len(l.FailedMachines)+len(l.FailedChips)+len(l.DrainedLinks) > 0
}

// QueueCapacity returns the capacity of a queue in bytes. It is 0 for unbounded queues and for
// credits. It returns an error if a packet of the given size does not fit.
func (l *Links) QueueCapacity(packet units.Bytes) (units.Bytes, error) {
	if l.Queue == "unbounded" || l.Queue == "credit" {
		return 0, nil
	}
	if count, ok := strings.CutSuffix(l.Queue, "p"); ok {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%.60q is no number of packets", l.Queue)
		}
		return units.Bytes(n) * packet, nil
	}
	b, err := units.ParseBytes(l.Queue)
	if err != nil || b < packet {
		return 0, fmt.Errorf("%.60q is no queue that a packet of %v fits", l.Queue, packet)
	}
	return b, nil
}

// DimIndex returns the number of dimension x, y or z.
func DimIndex(name string) int { return strings.Index("xyz", name) }

// Dims returns the numbers of the named dimensions.
func Dims(names []string) []int {
	var out []int
	for _, n := range names {
		out = append(out, DimIndex(n))
	}
	return out
}
