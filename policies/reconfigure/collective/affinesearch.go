package collective

// maxSearchVisits limits the time of one call of searchSequences, counted in GPUs that its
// broadcasts visit. maxSearchFinds is the number of spanning sequences that are compared. The
// search ends at either limit, with the best sequence so far.
const (
	maxSearchVisits = 2e6
	maxSearchFinds  = 4
)

// searchSequences draws sequences of d topologies with the given total of steps. From the
// sequences that span all GPUs, it adds the one with the lowest load. It reports whether it found
// any.
func (f *treeSearch) searchSequences(d, steps int) bool {
	var best *broadcastTrees
	budget := int(maxSearchVisits)
	for finds := 0; finds < maxSearchFinds && budget > 0; {
		f.stop.Check()
		budget -= d * f.k
		list := f.drawSequence(d, steps)
		if list == nil {
			continue
		}

		// Follow the shard of GPU 0 before the graphs are computed.
		reached := f.countReached(list)
		budget -= reached
		if reached < f.n { // checked first because it is cheap and most sequences fail
			continue
		}
		budget -= f.n * f.n

		// Compute the graphs; some formulas do not give k links into each GPU.
		t := &broadcastTrees{name: "affine"}
		for _, l := range list {
			g := affine(f.n, l.mul, l.add)
			if g == nil {
				break
			}
			t.phases = append(t.phases, treePhase{graph: g.joinLoops(), steps: l.steps})
		}

		if len(t.phases) < d || !t.spans(f.builder) {
			continue
		}

		// Among the spanning sequences, keep the one with the lowest load.
		finds++
		if t.computeLoad(f.builder); best == nil || t.load < best.load {
			best = t
		}
	}

	if best != nil {
		f.found = append(f.found, best)
	}
	return best != nil
}

// affinePhase is a phase on the graph u -> mul*u + add[i] mod n, for all i, which is not yet
// computed.
type affinePhase struct {
	mul, steps int
	add        []int32
}

// drawSequence draws a sequence: circulants of a window for phases of one step, otherwise affine
// graphs. It returns nil if the Moore bound excludes all sequences with these steps.
func (f *treeSearch) drawSequence(d, steps int) []affinePhase {
	// Random steps per phase, with at least one each.
	list := make([]affinePhase, d)
	for range steps - d {
		list[f.rng.IntN(d)].steps++
	}
	reach := 1 // maximum number of GPUs that a shard reaches
	for i := range list {
		list[i].steps++
		reach = min(f.n, reach*mooreBound(f.n, f.k, list[i].steps))
	}
	if reach < f.n {
		return nil
	}

	for i := range list {
		l := &list[i]
		if l.steps > 1 {
			// Several steps: the multiplier of de Bruijn graphs (k) or of Kautz graphs (-k), or half of
			// the time a random one.
			l.mul = [...]int{f.k, f.n - f.k, f.rng.IntN(f.n), f.rng.IntN(f.n)}[f.rng.IntN(4)]
			l.add = f.drawOffsets(f.n, f.rng.IntN(2) == 0)
			continue
		}

		// One step: the circulant of k consecutive multiples of a stride.
		l.mul, l.add = 1, make([]int32, f.k)
		stride := 1 + f.rng.IntN(f.n-1)
		for j := range l.add {
			l.add[j] = int32((j + 1) * stride % f.n)
		}
	}

	return list
}

// countReached returns the number of GPUs that receive the shard of GPU 0.
func (f *treeSearch) countReached(list []affinePhase) int {
	// Breadth-first search through the phases. In each phase, the search advances by as many
	// hops as the phase has steps.
	clear(f.visited)
	f.visited[0] = true
	queue, n := append(f.queue[:0], 0), int32(f.n)
	for _, l := range list {
		start := 0
		for range l.steps {
			end := len(queue)
			for _, u := range queue[start:end] {
				// GPU u has links to mul*u + add mod n.
				from := int32(l.mul) * u % n
				for _, a := range l.add {
					v := from + a
					if v >= n {
						v -= n
					}
					if !f.visited[v] {
						f.visited[v] = true
						queue = append(queue, v)
					}
				}
			}

			start = end
		}
	}

	f.queue = queue
	return len(queue)
}
