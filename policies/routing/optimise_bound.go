package routing

import (
	"context"
	"math"
	"slices"
)

// dualBound seeks a lower bound on the load of the most loaded link by linear programming duality: whatever lengths links
// have, the sum of all pairs' shortest lengths, weighed by demand, over the sum of all lengths is no more than the most
// loaded link carries (Shahrokhi and Matula, The Maximum Concurrent Flow Problem, J. ACM 37, 1990), and the best
// lengths give what pairs that spread over any paths at all reach.
type dualBound struct {
	in             *routeInstance
	tree           *stateTree
	capacity       []float64 // by orbit: the links of it, or where rates differ their rates
	nodesPerSource float64   // nodes that each source stands for
	length         []float64 // the best so far, whole numbers
	value          float64   // what they prove

	packing    float64 // a bound for one route a pair
	demandUnit float64 // that all demands are multiples of; 0 is none
}

// maxLength is the largest whole length.
const maxLength = 1 << 24

func newDualBound(in *routeInstance) *dualBound {
	b := &dualBound{in: in, tree: newStateTree(in.unrestricted()), capacity: make([]float64, in.numOrbits), length: make([]float64, in.numOrbits), nodesPerSource: 1}
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

// tryLengths makes lengths whole numbers, in which sums are exact, and keeps them if they prove more than the best. It may be
// told to do so only where most lengths are 0, so that this takes little time, and returns whether it did.
func (b *dualBound) tryLengths(ctx context.Context, length []float64, onlyContracted bool) bool {
	longest := maxOf(length)
	if longest == 0 {
		return false
	}
	rounded, sum := make([]float64, len(length)), 0.0
	for o, l := range length {
		rounded[o] = math.Round(l / longest * maxLength)
		sum += rounded[o] * b.capacity[o]
	}
	in := b.in
	distances := in.newNodeDistances(b.tree, rounded)
	if onlyContracted && !distances.isContracted() {
		return false
	}
	var total [4]float64 // sums of fewer numbers round less
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

// tryUnitLengths tries the same length for all links, by paths of the fewest hops, as try would.
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

// trySimpleLengths tries lengths that cost nothing to find and often prove all: the same for all links, and cuts.
func (b *dualBound) trySimpleLengths(ctx context.Context, shortest *candidatePaths) {
	b.tryUnitLengths(shortest)
	for _, cut := range b.cuts() {
		b.tryLengths(ctx, cut, false)
	}
}

// lowerBound returns what is proved, for loads that are sums of demands.
func (b *dualBound) lowerBound() float64 { return b.in.roundUp(max(b.value, b.packing), b.demandUnit) }

// useBound takes up what paths to spread over prove.
func (b *dualBound) useBound(ctx context.Context, spread *equilibration) {
	if b.in.hasWholeDemands {
		b.tryLengths(ctx, spread.bestLength, false)
	} else if v := spread.bound * (1 - 1e-10); v > b.value { // sums are rounded
		b.value = v
	}
}

// halfCuts returns lengths of 1 where paths leave half the planes of a dimension, side by side, for the others, or where it
// is open those up to an end.
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

// cuts returns lengths of 1 where paths cross sets of links of tori that often bind: those of each dimension, and
// beside links that are down those that cross the same plane. (A switch that is out takes 1 of 16 links across every
// border of cubes.)
func (b *dualBound) cuts() (all [][]float64) {
	symmetry := b.in.symmetry
	if symmetry == nil {
		return nil
	}
	for d := range symmetry.Torus.Dims {
		hasDown := make([]bool, 2*symmetry.Torus.Dims[d]) // by coordinate, up and down
		aligned, across := make([]float64, b.in.numOrbits), make([]float64, b.in.numOrbits)
		for _, afterDown := range []bool{false, true} {
			for k, l := range b.in.link {
				if l < 0 || k%b.in.degree/2 != d {
					continue
				}
				index, o := 2*symmetry.Torus.Coord(int32(k/b.in.degree), d)+k%2, b.in.orbit[k]
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
		if symmetry.Torus.Open[d] { // half-way along it
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
		if len(symmetry.Sources) == b.in.nodes && len(b.in.pairs) > largePairs { // else the linear program soon proves as much
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
