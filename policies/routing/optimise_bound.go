package routing

import (
	"context"
	"math"
	"slices"
)

// dual seeks a lower bound on the load of the most loaded link by linear programming duality: whatever lengths links
// have, the sum of all pairs' shortest lengths, weighed by demand, over the sum of all lengths is no more than the most
// loaded link carries (Shahrokhi and Matula, The Maximum Concurrent Flow Problem, J. ACM 37, 1990), and the best
// lengths give what pairs that spread over any paths at all reach.
type dual struct {
	in     *instance
	t      *tree
	links  []float64 // by orbit: the links of it, or where rates differ their rates
	each   float64   // nodes that each source stands for
	length []float64 // the best so far, whole numbers
	value  float64   // what they prove

	least float64 // a bound for one route a pair
	unit  float64 // that all demands are multiples of; 0 is none
}

// scale is the largest whole length.
const scale = 1 << 24

func newDual(in *instance) *dual {
	b := &dual{in: in, t: newTree(in.free()), links: make([]float64, in.orbits), length: make([]float64, in.orbits), each: 1}
	for _, o := range in.orbit {
		if o >= 0 {
			b.links[o] += 1 / in.perUnit(o)
		}
	}
	b.least, b.unit = in.packingBound(), in.unit()
	if in.symmetry != nil {
		b.each = float64(in.nodes / len(in.symmetry.Sources))
	}
	return b
}

// try makes lengths whole numbers, in which sums are exact, and keeps them if they prove more than the best. It may be
// told to do so only where most lengths are 0, so that this takes little time, and returns whether it did.
func (b *dual) try(ctx context.Context, length []float64, few bool) bool {
	most := top(length)
	if most == 0 {
		return false
	}
	whole, sum := make([]float64, len(length)), 0.0
	for o, l := range length {
		whole[o] = math.Round(l / most * scale)
		sum += whole[o] * b.links[o]
	}
	in := b.in
	z := in.distances(b.t, whole)
	if few && !z.few() {
		return false
	}
	var total [4]float64 // sums of fewer numbers round less
	for s, src := range in.sources {
		if ctx.Err() != nil {
			return false
		}
		dist := z.of(src)
		for i := in.first[s]; i < in.first[s+1]; i++ {
			total[s%len(total)] += in.demand[i] * b.each * dist[z.part[in.pair[i].Dst]]
		}
	}
	if v := (total[0] + total[1] + total[2] + total[3]) / sum; v > b.value {
		b.value, b.length = v, whole
	}
	return true
}

// hops tries the same length for all links, by paths of the fewest hops, as try would.
func (b *dual) hops(shortest *choices) {
	var total [4]float64
	for s := range b.in.sources {
		for i := b.in.first[s]; i < b.in.first[s+1]; i++ {
			total[s%len(total)] += b.in.demand[i] * b.each * float64(len(shortest.of(shortest.first[i])))
		}
	}
	sum := 0.0
	for _, n := range b.links {
		sum += n
	}
	if v := (total[0] + total[1] + total[2] + total[3]) / sum; v > b.value {
		b.value, b.length = v, slices.Repeat([]float64{scale}, len(b.links))
	}
}

// simple tries lengths that cost nothing to find and often prove all: the same for all links, and cuts.
func (b *dual) simple(ctx context.Context, shortest *choices) {
	b.hops(shortest)
	for _, cut := range b.cuts() {
		b.try(ctx, cut, false)
	}
}

// bound returns what is proved, for loads that are sums of demands.
func (b *dual) bound() float64 { return b.in.roundUp(max(b.value, b.least), b.unit) }

// adopt takes up what paths to spread over prove.
func (b *dual) adopt(ctx context.Context, x *equilibration) {
	if b.in.whole {
		b.try(ctx, x.best, false)
	} else if v := x.value * (1 - 1e-10); v > b.value { // sums are rounded
		b.value = v
	}
}

// halves returns lengths of 1 where paths leave half the planes of a dimension, side by side, for the others, or where it
// is open those up to an end.
func (b *dual) halves(d int) (all [][]float64) {
	t := b.in.symmetry.Torus
	size := t.Dims[d]
	for from := range size {
		within := func(x int) bool { return t.Open[d] && x < from || !t.Open[d] && (x-from+size)%size < size/2 }
		for _, out := range []bool{true, false} {
			cut := make([]float64, b.in.orbits)
			for k, o := range b.in.orbit {
				x := t.Coord(int32(k/b.in.degree), d)
				to := (x + 1) % size
				if k%2 == 1 {
					to = (x - 1 + size) % size
				}
				if o >= 0 && k%b.in.degree/2 == d && within(x) == out && within(to) != out {
					cut[o] = 1
				}
			}
			all = append(all, cut)
		}
	}
	return all
}

// cuts returns lengths of 1 where paths cross sets of links of tori that often bind: those of each dimension, and
// beside links that are down those that cross the same plane. (A switch that is out takes 1 of 16 links across every
// border of cubes.)
func (b *dual) cuts() (all [][]float64) {
	y := b.in.symmetry
	if y == nil {
		return nil
	}
	for d := range y.Torus.Dims {
		plane := make([]bool, 2*y.Torus.Dims[d]) // by coordinate, up and down
		one, across := make([]float64, b.in.orbits), make([]float64, b.in.orbits)
		for _, some := range []bool{false, true} {
			for k, l := range b.in.link {
				if l < 0 || k%b.in.degree/2 != d {
					continue
				}
				at, o := 2*y.Torus.Coord(int32(k/b.in.degree), d)+k%2, b.in.orbit[k]
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
			half := make([]float64, b.in.orbits)
			for k, o := range b.in.orbit {
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
		if len(y.Sources) == b.in.nodes && len(b.in.pair) > manyPairs { // else the linear program soon proves as much
			cuts = append(cuts, b.halves(d)...)
		}
		for _, cut := range cuts {
			if top(cut) > 0 {
				all = append(all, cut)
			}
		}
	}
	return all
}
