package routing

import (
	"context"
	"math"
	"slices"
)

// dualBound computes a lower bound on the maximum link load by linear programming duality. Give
// each link a length. Add up the pairs' shortest distances, weighted by demand, and divide by the
// sum of all lengths. The result does not exceed the maximum load (Shahrokhi and Matula, The
// Maximum Concurrent Flow Problem, J. ACM 37, 1990). The best lengths give the optimum for pairs
// that split over any paths.
type dualBound struct {
	in   *routeInstance
	tree *stateTree // unrestricted paths
	// capacity is the number of links of an orbit, or the sum of their relative rates if rates
	// differ; indexed by orbit.
	capacity       []float64
	nodesPerSource float64   // nodes that each source represents
	length         []float64 // best lengths so far, whole numbers; indexed by orbit
	value          float64   // bound that length proves

	packing    float64 // bound for one path per pair (packingBound)
	demandUnit float64 // all demands are multiples of this unit; 0 if there is no such unit
}

// maxLength is the largest length after rounding to whole numbers. Sums of less than 2^29 such
// lengths are exact in float64.
const maxLength = 1 << 24

// Values of the parameter onlyContracted of tryLengths.
const (
	anyLengths        = false
	contractedLengths = true
)

// newDualBound returns a bound without lengths.
func newDualBound(in *routeInstance) *dualBound {
	b := &dualBound{
		in:             in,
		tree:           newStateTree(in.unrestricted()),
		capacity:       make([]float64, in.numOrbits),
		length:         make([]float64, in.numOrbits),
		nodesPerSource: 1,
	}

	for _, o := range in.orbit {
		if o >= 0 {
			b.capacity[o] += 1 / in.perUnit(o)
		}
	}
	b.packing, b.demandUnit = in.packingBound(), in.demandUnit()
	if in.symmetry != nil {
		b.nodesPerSource = float64(in.nodes / len(in.symmetry.Sources))
	}
	return b
}

// tryLengths rounds lengths to whole numbers, whose sums are exact, and keeps them if they
// improve the bound. With onlyContracted it stops and returns false unless lengths are mostly 0,
// so that distances are cheap.
func (b *dualBound) tryLengths(ctx context.Context, length []float64, onlyContracted bool) bool {
	// Round to whole numbers up to maxLength.
	longest := maxOf(length)
	if longest == 0 {
		return false
	}
	rounded := make([]float64, len(length))
	sum := 0.0
	for o, l := range length {
		rounded[o] = math.Round(l / longest * maxLength)
		sum += rounded[o] * b.capacity[o]
	}

	in := b.in
	distances := in.newNodeDistances(b.tree, rounded)
	if onlyContracted && !distances.isContracted() {
		return false
	}

	// The sum of demand times distance over all pairs. It is divided into partial sums, because
	// smaller sums have smaller rounding errors.
	var total [4]float64
	for s, src := range in.sources {
		if ctx.Err() != nil {
			return false
		}
		dist := distances.from(src)
		for i := in.firstPair[s]; i < in.firstPair[s+1]; i++ {
			total[s%len(total)] += in.demand[i] * b.nodesPerSource * dist[distances.component[in.pairs[i].Dst]]
		}
	}

	if v := (total[0] + total[1] + total[2] + total[3]) / sum; v > b.value {
		b.value, b.length = v, rounded
	}
	return true
}

// tryUnitLengths is tryLengths for equal lengths of all links, given the paths of the minimum
// number of hops.
func (b *dualBound) tryUnitLengths(shortest *candidatePaths) {
	var total [4]float64
	for s := range b.in.sources {
		for i := b.in.firstPair[s]; i < b.in.firstPair[s+1]; i++ {
			total[s%len(total)] += b.in.demand[i] * b.nodesPerSource * float64(len(shortest.pathOrbits(shortest.first[i])))
		}
	}

	sum := 0.0
	for _, n := range b.capacity {
		sum += n
	}
	if v := (total[0] + total[1] + total[2] + total[3]) / sum; v > b.value {
		b.value, b.length = v, slices.Repeat([]float64{maxLength}, len(b.capacity))
	}
}

// trySimpleLengths tries lengths that are known in advance and often optimal: equal lengths, and
// cuts.
func (b *dualBound) trySimpleLengths(ctx context.Context, shortest *candidatePaths) {
	b.tryUnitLengths(shortest)
	for _, cut := range b.cuts() {
		b.tryLengths(ctx, cut, anyLengths)
	}
}

// lowerBound returns the bound for loads that are sums of demands.
func (b *dualBound) lowerBound() float64 {
	return b.in.roundUp(max(b.value, b.packing), b.demandUnit)
}

// useBound takes over the bound that an equilibration has proved.
func (b *dualBound) useBound(ctx context.Context, spread *equilibration) {
	if b.in.hasWholeDemands {
		b.tryLengths(ctx, spread.bestLength, anyLengths)
	} else if v := spread.bound * (1 - 1e-10); v > b.value { // a margin for rounding errors of its sums
		b.value = v
	}
}

// halfCuts returns cuts across half of a dimension. Lengths are 1 for links that leave, or enter,
// size/2 adjacent planes. In an open dimension these are the planes below a coordinate.
func (b *dualBound) halfCuts(d int) (all [][]float64) {
	t := b.in.symmetry.Torus
	size := t.Dims[d]
	for from := range size {
		within := func(x int) bool { return t.Open[d] && x < from || !t.Open[d] && (x-from+size)%size < size/2 }
		for _, out := range []bool{true, false} {
			cut := make([]float64, b.in.numOrbits)
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

// cuts returns lengths of 1 across sets of links of a torus that often limit traffic. A set has
// the links of a dimension, or the links that cross a plane together with links that are down.
// For example, a failed optical switch removes 1 of 16 links across every border between cubes.
func (b *dualBound) cuts() (all [][]float64) {
	symmetry := b.in.symmetry
	if symmetry == nil {
		return nil
	}

	// In each dimension: all links (aligned), and the links next to links that are down (across).
	for d := range symmetry.Torus.Dims {
		// A link across the plane is down; indexed by 2*coordinate, +1 for the downward port.
		hasDown := make([]bool, 2*symmetry.Torus.Dims[d])
		aligned := make([]float64, b.in.numOrbits)
		across := make([]float64, b.in.numOrbits)
		for _, afterDown := range []bool{false, true} {
			for k, l := range b.in.link {
				if l < 0 || k%b.in.degree/2 != d {
					continue
				}
				index := 2*symmetry.Torus.Coord(int32(k/b.in.degree), d) + k%2
				o := b.in.orbit[k]
				switch {
				case o < 0:
					hasDown[index] = true
				case afterDown && hasDown[index]:
					across[o] = 1
				default:
					aligned[o] = 1
				}
			}
		}

		cuts := [][]float64{aligned, across}
		if symmetry.Torus.Open[d] { // across its middle
			half := make([]float64, b.in.numOrbits)
			for k, o := range b.in.orbit {
				index := (symmetry.Torus.Dims[d] - 1) / 2
				if k%b.in.degree%2 == 1 {
					index++
				}
				if o >= 0 && k%b.in.degree/2 == d && symmetry.Torus.Coord(int32(k/b.in.degree), d) == index {
					half[o] = 1
				}
			}

			cuts = append(cuts, half)
		}

		// On small problems the linear program proves as much soon.
		if len(symmetry.Sources) == b.in.nodes && len(b.in.pairs) > largePairs {
			cuts = append(cuts, b.halfCuts(d)...)
		}
		for _, cut := range cuts {
			if maxOf(cut) > 0 {
				all = append(all, cut)
			}
		}
	}

	return all
}
