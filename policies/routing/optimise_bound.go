package routing

import (
	"context"
	"math"
	"slices"
	"sync"
)

// dual seeks a lower bound on the load of the most loaded link by linear programming duality: whatever lengths links
// have, the sum of all pairs' shortest lengths, weighed by demand, over the sum of all lengths is no more than the most
// loaded link carries (Shahrokhi and Matula, The Maximum Concurrent Flow Problem, J. ACM 37, 1990), and the best
// lengths give what pairs that spread over any ways at all reach.
type dual struct {
	in     *instance
	e      *alike
	w      *ways
	length []float64 // the best so far, whole numbers
	value  float64   // what they prove
	flow   []float64 // by orbit: the load of a spread choice
	warm   bool      // flow is a good choice to begin from
	lanes  []*lane

	least  float64 // a bound for one way a pair
	sums   *sums   // nil where loads are not asked what sums they are
	lifted [2]float64
}

// lane sums up some of the sources. Their number is fixed, so that workers do not change the order in which numbers are
// added.
type lane struct {
	t     *tree
	sum   []float64 // by node
	load  []float64
	total float64
}

const lanes = 4

// scale is the largest whole length.
const scale = 1 << 24

func newDual(in *instance) *dual {
	b := &dual{in: in, e: newAlike(in), w: in.free()}
	for k, from := range b.w.From {
		b.w.Class[k] = b.e.orbit[int(from)*in.degree+b.w.step[k].Port()]
	}
	b.flow, b.length = make([]float64, b.e.orbits), make([]float64, b.e.orbits)
	for range lanes {
		b.lanes = append(b.lanes, &lane{t: newTree(b.w), sum: make([]float64, in.nodes), load: make([]float64, b.e.orbits)})
	}
	return b
}

// measure returns the sum of all pairs' shortest lengths and, where load is not nil, what they lay on each orbit along
// the ways; parts of them where ctx ends.
func (b *dual) measure(ctx context.Context, length, load []float64, workers int) float64 {
	run := func(k int) {
		l := b.lanes[k]
		l.total = 0
		clear(l.load)
		for s := k; s < len(b.e.sources) && ctx.Err() == nil; s += lanes {
			l.add(b.in, b.e.sources[s], b.e.weight[s], length, load != nil)
		}
	}
	if workers < 2 {
		for k := range lanes {
			run(k)
		}
	} else {
		var group sync.WaitGroup
		for w := range min(workers, lanes) {
			group.Go(func() {
				for k := w; k < lanes; k += min(workers, lanes) {
					run(k)
				}
			})
		}
		group.Wait()
	}
	clear(load)
	total := 0.0
	for _, l := range b.lanes {
		total += l.total
		for c := range load {
			load[c] += l.load[c] / b.e.links[c]
		}
	}
	return total
}

// add takes up the pairs of a source.
func (l *lane) add(in *instance, src int32, weight float64, length []float64, loads bool) {
	t := l.t
	t.grow(src, length)
	clear(l.sum)
	s, _ := slices.BinarySearch(in.sources, src)
	for i := in.first[s]; i < in.first[s+1]; i++ {
		at, w := t.end(in.pair[i].Dst), in.demand[i]*weight
		l.total += w * t.Dist[at]
		l.sum[at] += w
	}
	if !loads {
		return
	}
	for i := len(t.Order) - 1; i > 0; i-- {
		at := t.Order[i]
		k := t.By[at]
		l.load[t.Class[k]] += l.sum[at]
		l.sum[t.From[k]] += l.sum[at]
	}
}

// try makes lengths whole numbers, in which sums are exact, and keeps them if they prove more than the best.
func (b *dual) try(ctx context.Context, length []float64, workers int) {
	most := 0.0
	for _, l := range length {
		most = max(most, l)
	}
	if most == 0 {
		return
	}
	whole, sum := make([]float64, len(length)), 0.0
	for c, l := range length {
		whole[c] = math.Round(l / most * scale)
		sum += whole[c] * b.e.links[c]
	}
	total := b.measure(ctx, whole, nil, workers)
	if v := total / sum; v > b.value && ctx.Err() == nil {
		b.value, b.length = v, whole
	}
}

// bound returns what is proved: rounded up where demands are whole, and to what sum of demands there is.
func (b *dual) bound() float64 {
	v := b.value
	if b.in.whole {
		v = math.Ceil(b.value * (1 - 1e-12)) // the quotient of two whole numbers
	}
	if b.sums == nil {
		return max(v, b.least)
	}
	if v = max(v, b.least); b.lifted[0] != v {
		b.lifted = [2]float64{v, b.in.lift(v, b.sums)}
	}
	return b.lifted[1]
}

// told takes up what ways to spread over prove.
func (b *dual) told(ctx context.Context, x *spreading, workers int) {
	if b.in.whole {
		b.try(ctx, x.best, workers)
	} else if v := x.value * (1 - 1e-10); v > b.value { // sums are rounded
		b.value = v
	}
}

// seek improves the bound by so many rounds, or until it reaches target: all pairs take the shortest ways by lengths
// that grow exponentially with loads, and the spread choice moves towards that by a line search (Frank and Wolfe's
// method on the potential of Plotkin, Shmoys and Tardos, Math. Oper. Res. 20, 1995).
func (b *dual) seek(ctx context.Context, rounds int, target float64, workers int) error {
	n := b.e.orbits
	length, load, mean := make([]float64, n), make([]float64, n), make([]float64, n)
	for c := range length {
		length[c] = 1
	}
	b.try(ctx, length, workers)
	for _, cut := range b.cuts() {
		b.try(ctx, cut, workers)
	}
	if b.warm = b.warm && top(b.flow) > 0; !b.warm {
		b.measure(ctx, length, b.flow, workers)
	}
	if b.bound() >= target || top(b.flow) == 0 {
		return nil
	}
	// how sharply lengths follow loads, relative to the greatest: from loads that are good, and in few rounds, lengths
	// change little
	begin, end := 20.0, min(2000, 20+float64(rounds))
	if b.warm {
		begin = 100
		end = max(begin, end)
	}
	weight := 0.0
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		most := 0.0
		for _, x := range b.flow {
			most = max(most, x)
		}
		width := begin * math.Pow(end/begin, float64(round)/float64(rounds)) / most
		sum := 0.0
		for c, x := range b.flow {
			length[c] = math.Exp(width * (x - most))
			sum += length[c] * b.e.links[c]
		}
		for c := range length {
			length[c] /= sum
			mean[c] += length[c] * float64(round+1)
		}
		weight += float64(round + 1)
		value := b.measure(ctx, length, load, workers)
		if err := ctx.Err(); err != nil {
			return err
		}
		if value > b.value {
			b.try(ctx, length, workers)
		}
		if round%10 == 9 {
			b.try(ctx, mean, workers)
		}
		if b.bound() >= target {
			return nil
		}
		step := b.line(load, width)
		for c := range b.flow {
			b.flow[c] += step * (load[c] - b.flow[c])
		}
		if round%50 == 49 {
			clear(mean)
		}
	}
	return nil
}

// from has the next search for a bound begin from the loads of a choice, by node and port.
func (b *dual) from(load []float64) {
	clear(b.flow)
	for k, o := range b.e.orbit {
		if o >= 0 {
			b.flow[o] += load[k] / b.e.links[o]
		}
	}
	b.warm = true
}

// cuts returns lengths of 1 where ways cross sets of links of tori that often bind: those of each dimension, and beside
// links that are down those that cross the same plane. (A switch that is out takes 1 of 16 links across every border of
// cubes.)
func (b *dual) cuts() (all [][]float64) {
	y := b.in.symmetry
	if y == nil {
		return nil
	}
	for d := range y.Torus.Dims {
		plane := make([]bool, 2*y.Torus.Dims[d]) // by coordinate, up and down
		one, across := make([]float64, b.e.orbits), make([]float64, b.e.orbits)
		for _, some := range []bool{false, true} {
			for k, l := range b.in.link {
				if l < 0 || k%b.in.degree/2 != d {
					continue
				}
				at, o := 2*y.Torus.Coord(int32(k/b.in.degree), d)+k%2, b.e.orbit[k]
				switch {
				case o < 0:
					plane[at] = true
				case some && plane[at]:
					across[o] = 1
				default:
					one[o] = 1
				}
			}
		}
		cuts := [][]float64{one, across}
		if y.Torus.Open[d] { // half-way along it
			half := make([]float64, b.e.orbits)
			for k, o := range b.e.orbit {
				at := (y.Torus.Dims[d] - 1) / 2
				if k%b.in.degree%2 == 1 {
					at++
				}
				if o >= 0 && k%b.in.degree/2 == d && y.Torus.Coord(int32(k/b.in.degree), d) == at {
					half[o] = 1
				}
			}
			cuts = append(cuts, half)
		}
		for _, cut := range cuts {
			if top(cut) > 0 {
				all = append(all, cut)
			}
		}
	}
	return all
}

// line returns how far to move towards loads: where the potential's slope is 0.
func (b *dual) line(load []float64, width float64) float64 {
	low, high := 0.0, 1.0
	for range 25 {
		at := (low + high) / 2
		most := 0.0
		for c, x := range b.flow {
			most = max(most, x+at*(load[c]-x))
		}
		slope := 0.0
		for c, x := range b.flow {
			slope += b.e.links[c] * (load[c] - x) * math.Exp(width*(x+at*(load[c]-x)-most))
		}
		if slope < 0 {
			low = at
		} else {
			high = at
		}
	}
	return low
}
