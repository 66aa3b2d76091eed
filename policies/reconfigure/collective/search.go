package collective

// searchVisits bounds a search for sequences, in GPUs met; searchFinds is how many of them are compared.
const (
	searchVisits = 2e6
	searchFinds  = 4
)

// search draws sequences of d topologies with so many steps in all, those of a single step circulants of a window, the
// others affine graphs, and adds of those that span all the one of the least load. It reports whether there is one.
func (f *forester) search(d, steps int) bool {
	var best *trees
	f.left = searchVisits
	for finds := 0; finds < searchFinds && f.left > 0; {
		f.stop.Check()
		f.left -= d * f.k
		if !f.draw(d, steps) || !f.spans() {
			continue
		}
		t := f.drawn()
		if t == nil {
			continue
		}
		finds++
		if !t.spans(f.z) {
			continue
		}
		if t.fill(f.z); best == nil || t.load < best.load {
			best = t
		}
	}
	if best != nil {
		f.found = append(f.found, best)
	}
	return best != nil
}

// formula is a leg of affine graphs, or of a circulant, that is not yet written out.
type formula struct {
	mul, steps int
	add        []int32
}

// draw draws a sequence; false if no one of its kind spans all.
func (f *forester) draw(d, steps int) bool {
	for len(f.drawing) < d {
		f.drawing = append(f.drawing, formula{add: make([]int32, f.k)})
	}
	f.drawing = f.drawing[:d]
	for i := range f.drawing {
		f.drawing[i].steps = 1
	}
	for range steps - d {
		f.drawing[f.rng.IntN(d)].steps++
	}
	reach := 1
	for i := range f.drawing {
		reach = min(f.n, reach*f.balls[f.drawing[i].steps])
	}
	if reach < f.n {
		return false
	}
	for i := range f.drawing {
		l := &f.drawing[i]
		if l.steps == 1 {
			l.mul = 1
			stride := 1 + f.rng.IntN(f.n-1)
			for i := range l.add {
				l.add[i] = int32((i + 1) * stride % f.n)
			}
			continue
		}
		switch l.mul = f.rng.IntN(f.n); f.rng.IntN(4) {
		case 0:
			l.mul = f.k
		case 1:
			l.mul = f.n - f.k
		}
		base, row := f.rng.IntN(f.n), f.rng.IntN(2) == 0
		for i := range l.add {
			if l.add[i] = int32((base + i) % f.n); !row {
				l.add[i] = f.rng.Int32N(int32(f.n))
			}
		}
	}
	return true
}

// drawn writes out what was drawn, with a use for links that lead back; nil where it is no topology.
func (f *forester) drawn() *trees {
	t := &trees{name: "affine"}
	for _, l := range f.drawing {
		g := affine(f.n, l.mul, l.add)
		if g == nil {
			return nil
		}
		t.legs = append(t.legs, leg{g.unlooped(), l.steps})
	}
	return t
}

// spans reports whether what was drawn reaches all from every GPU. Most does not from the first.
func (f *forester) spans() bool {
	n := int32(f.n)
	for u := range n {
		f.try++
		f.mark[u] = f.try
		f.list = append(f.list[:0], u)
		for i := range f.drawing {
			l, at := &f.drawing[i], 0
			for range l.steps {
				end := len(f.list)
				for _, x := range f.list[at:end] {
					to := int32(l.mul) * x % n
					for _, a := range l.add {
						v := to + a
						if v >= n {
							v -= n
						}
						if f.mark[v] != f.try {
							f.mark[v] = f.try
							f.list = append(f.list, v)
						}
					}
				}
				at = end
			}
		}
		if f.left -= len(f.list); len(f.list) < f.n {
			return false
		}
	}
	return true
}
