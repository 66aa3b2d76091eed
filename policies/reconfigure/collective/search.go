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
		t := f.draw(d, steps)
		if t == nil {
			continue
		}
		// Most do not reach all from the first.
		met := t.reached(0)
		left -= met
		if met < f.n {
			continue
		}
		left -= f.n * f.n
		if !t.spans(f.z) {
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

// draw draws a sequence: circulants of a window for a single step, else affine graphs. nil if no one of its kind spans
// all, or if links meet in fewer GPUs than there are.
func (f *forester) draw(d, steps int) *trees {
	t := &trees{name: "affine", legs: make([]leg, d)}
	for range steps - d {
		t.legs[f.rng.IntN(d)].steps++
	}
	reach := 1
	for i := range t.legs {
		t.legs[i].steps++
		reach = min(f.n, reach*moore(f.n, f.k, t.legs[i].steps))
	}
	if reach < f.n {
		return nil
	}
	for i := range t.legs {
		mul, add := 1, make([]int32, f.k)
		if t.legs[i].steps == 1 {
			stride := 1 + f.rng.IntN(f.n-1)
			for j := range add {
				add[j] = int32((j + 1) * stride % f.n)
			}
		} else {
			mul = [...]int{f.k, f.n - f.k, f.rng.IntN(f.n), f.rng.IntN(f.n)}[f.rng.IntN(4)]
			add = f.offsets(f.n, f.rng.IntN(2) == 0)
		}
		g := affine(f.n, mul, add)
		if g == nil {
			return nil
		}
		t.legs[i].graph = g.unlooped()
	}
	return t
}

// reached is how many GPUs get what one has.
func (t *trees) reached(gpu int32) int {
	list, seen := []int32{gpu}, make([]bool, t.legs[0].n)
	seen[gpu] = true
	for _, l := range t.legs {
		at := 0
		for range l.steps {
			end := len(list)
			for _, u := range list[at:end] {
				for _, v := range l.to[int(u)*l.k : (int(u)+1)*l.k] {
					if !seen[v] {
						seen[v] = true
						list = append(list, v)
					}
				}
			}
			at = end
		}
	}
	return len(list)
}
