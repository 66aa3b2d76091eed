package collective

// searchVisits bounds a search for sequences, in GPUs met; searchFinds is how many of them are compared.
const (
	searchVisits = 2e6
	searchFinds  = 4
)

// search draws sequences of d topologies with so many steps in all, and adds of those that span all the one of the
// least load. It reports whether there is one.
func (f *forester) search(d, steps int) bool {
	var best *trees
	left := int(searchVisits)
	for finds := 0; finds < searchFinds && left > 0; {
		f.stop.Check()
		left -= d * f.k
		list := f.draw(d, steps)
		if list == nil {
			continue
		}
		met := f.reached(list)
		left -= met
		if met < f.n { // most do not reach all from the first
			continue
		}
		left -= f.n * f.n
		t := &trees{name: "affine"}
		for _, l := range list {
			g := affine(f.n, l.mul, l.add)
			if g == nil {
				break
			}
			t.legs = append(t.legs, leg{g.unlooped(), l.steps})
		}
		if len(t.legs) < d || !t.spans(f.z) {
			continue
		}
		finds++
		if t.fill(f.z); best == nil || t.load < best.load {
			best = t
		}
	}
	if best != nil {
		f.found = append(f.found, best)
	}
	return best != nil
}

// formula is a leg of an affine graph that is not yet written out.
type formula struct {
	mul, steps int
	add        []int32
}

// draw draws a sequence: circulants of a window for a single step, else affine graphs. nil if no one of its kind spans
// all.
func (f *forester) draw(d, steps int) []formula {
	list := make([]formula, d)
	for range steps - d {
		list[f.rng.IntN(d)].steps++
	}
	reach := 1
	for i := range list {
		list[i].steps++
		reach = min(f.n, reach*moore(f.n, f.k, list[i].steps))
	}
	if reach < f.n {
		return nil
	}
	for i := range list {
		l := &list[i]
		if l.steps > 1 {
			l.mul = [...]int{f.k, f.n - f.k, f.rng.IntN(f.n), f.rng.IntN(f.n)}[f.rng.IntN(4)]
			l.add = f.offsets(f.n, f.rng.IntN(2) == 0)
			continue
		}
		l.mul, l.add = 1, make([]int32, f.k)
		stride := 1 + f.rng.IntN(f.n-1)
		for j := range l.add {
			l.add[j] = int32((j + 1) * stride % f.n)
		}
	}
	return list
}

// reached is how many GPUs get what the first one has.
func (f *forester) reached(list []formula) int {
	clear(f.seen)
	f.seen[0] = true
	met, n := append(f.met[:0], 0), int32(f.n)
	for _, l := range list {
		at := 0
		for range l.steps {
			end := len(met)
			for _, u := range met[at:end] {
				from := int32(l.mul) * u % n
				for _, a := range l.add {
					v := from + a
					if v >= n {
						v -= n
					}
					if !f.seen[v] {
						f.seen[v] = true
						met = append(met, v)
					}
				}
			}
			at = end
		}
	}
	f.met = met
	return len(met)
}
