package pack

import (
	"math"

	"sim/policies/reconfigure/cancellation"
)

// pathAssignment assigns all chunks to paths through a time network (timeNetwork: the links of
// all phases). It minimises sum_i max_e load_ie, the sum over phases i of the largest load of a
// link e. This is a lower bound on the slots.
//
// Each maximum is smoothed to log(sum_e exp(beta load_ie)) / beta. The price of link e of
// phase i is the derivative of the smoothed sum: exp(beta load_ie) / sum_e exp(beta
// load_ie). Chunks move to cheaper paths, which are shortest paths at these prices, while
// beta increases (Shahrokhi and Matula, 1990, for the maximum load of one network).
//
// The prices of a phase add up to 1. The sum over chunks of the price of the cheapest path
// is therefore a lower bound of the sum of maxima: a dual value of the linear program.
type pathAssignment struct {
	net    *timeNetwork
	demand []int32 // chunks, indexed by flow: source x n + destination
	relay  bool

	links  []linkLoad
	phases []phaseWeights

	// A column is a path with the chunks that take it: columnChunks[c] chunks of flow
	// columnFlow[c] take the links columnLinks[columnStart[c]:columnStart[c+1]]. The columns of
	// flow f are columns[f][:numColumns[f]].
	columnFlow, columnStart, columnLinks, columnChunks []int32
	columns                                            [][maxColumns]int32
	numColumns                                         []int8

	maxMove     int32     // maximum number of chunks that move in one step
	weightTable []float64 // weight, indexed by load - pivot + tableZero
	tableZero   int32

	tree      pathTree  // finds cheapest paths from one source
	price     []float64 // indexed by link, constant during a sweep
	dualBound float64   // highest dual bound so far
	moved     int64     // chunks moved since moveAllChunks set it to 0
	stop      cancellation.Condition
}

// linkLoad is the load of a link in chunks, and its weight exp(beta (load - pivot)), which
// is limited to the range of weightTable.
type linkLoad struct {
	weight      float64
	load, phase int32
}

// phaseWeights has the values by which the weights of the links of a phase become prices.
type phaseWeights struct {
	sum      float64 // of the weights
	scale    float64 // 1 / sum
	hopPrice float64 // added to the price of each link; see the constant hopPrice
	pivot    int32   // a load near the largest one
}

const (
	// maxColumns limits the paths per flow. A new path replaces the costliest unused one.
	maxColumns = 6
	// hopPrice is added to the price of each link, as a share of the mean price. Of several
	// paths of equal price, the shortest one is then cheapest.
	hopPrice = 0.02
	// weightSpan limits weights to exp(-weightSpan) .. exp(weightSpan). Loads that are
	// farther from the largest load do not matter.
	weightSpan = 30.0
	// moveSpan / beta is the maximum number of chunks that move in one step.
	moveSpan = 6.0
	// minBeta limits the size of weightTable to 2 weightSpan / minBeta, 600,000 entries. It
	// matters for loads above 80,000; see improve.
	minBeta = 1e-4
	// minSaving is the relative difference of two prices from which on one is lower. It is above
	// rounding errors, so that chunks do not move forever between equal paths.
	minSaving = 1e-6
)

// init resets the assignment for a problem, and keeps the memory.
func (s *pathAssignment) init(net *timeNetwork, demand []int32, relay bool) {
	*s = pathAssignment{net: net, demand: demand, relay: relay, tree: s.tree, price: s.price,
		weightTable: s.weightTable, links: s.links,
		phases: s.phases, columnFlow: s.columnFlow[:0], columnLinks: s.columnLinks[:0],
		columnChunks: s.columnChunks[:0], columnStart: append(s.columnStart[:0], 0),
		columns: s.columns, numColumns: s.numColumns, stop: s.stop}
	s.links, s.price = resize(s.links, len(net.to)), resize(s.price, len(net.to))
	for l, phase := range net.phase {
		s.links[l] = linkLoad{phase: phase}
	}
	s.phases = resize(s.phases, net.phases)
	for phase := range s.phases {
		s.phases[phase] = phaseWeights{hopPrice: hopPrice / float64(max(1, net.base[phase+1]-net.base[phase]))}
	}
	s.columns, s.numColumns = resize(s.columns, len(demand)), resizeZero(s.numColumns, len(demand))
}

// addColumn adds a column without chunks to a flow and returns it, or -1 if all columns of
// the flow are used.
func (s *pathAssignment) addColumn(flow int32, path []int32) int32 {
	c := int32(len(s.columnChunks))

	// Replace the costliest unused column if the flow has no free one.
	index := int(s.numColumns[flow])
	if index == maxColumns {
		index = -1
		worst := 0.0
		for j, other := range s.columns[flow] {
			if s.columnChunks[other] == 0 {
				if p := s.cost(other); p > worst {
					index, worst = j, p
				}
			}
		}

		if index < 0 {
			return -1
		}
	} else {
		s.numColumns[flow]++
	}

	s.columns[flow][index] = c
	s.columnLinks = append(s.columnLinks, path...)
	s.columnStart = append(s.columnStart, int32(len(s.columnLinks)))
	s.columnFlow = append(s.columnFlow, flow)
	s.columnChunks = append(s.columnChunks, 0)
	return c
}

// path returns the links of a column.
func (s *pathAssignment) path(c int32) []int32 {
	return s.columnLinks[s.columnStart[c]:s.columnStart[c+1]]
}

// cost returns the price of a column's path at the current weights.
func (s *pathAssignment) cost(c int32) float64 {
	sum := 0.0
	links, phases := s.links, s.phases
	for _, l := range s.path(c) {
		link := &links[l]
		weights := &phases[link.phase]
		sum += link.weight*weights.scale + weights.hopPrice
	}
	return sum
}

// updatePrices sets price by the current weights.
func (s *pathAssignment) updatePrices() {
	for l, link := range s.links {
		weights := &s.phases[link.phase]
		s.price[l] = link.weight*weights.scale + weights.hopPrice
	}
	s.tree.setPrices(s.net, s.price)
}

// addChunks adds x chunks to a column and to the loads of its links.
func (s *pathAssignment) addChunks(c, x int32) {
	s.columnChunks[c] += x
	links, phases := s.links, s.phases
	for _, l := range s.path(c) {
		link := &links[l]
		link.load += x
		weights := &phases[link.phase]
		w := s.weightOf(link.load - weights.pivot)
		weights.sum += w - link.weight
		link.weight = w

		// If the largest load is now far from the pivot, the sum loses precision.
		if weights.sum < 1e-5 || weights.sum > 1e6 {
			s.setPivot(link.phase)
		}
		weights.scale = 1 / weights.sum
	}
}

// weightOf returns the weight of a load, given its difference from the pivot.
func (s *pathAssignment) weightOf(above int32) float64 {
	return s.weightTable[max(0, min(above+s.tableZero, int32(len(s.weightTable)-1)))]
}

// setBeta sets beta and computes all weights.
func (s *pathAssignment) setBeta(beta float64) {
	s.maxMove = max(1, int32(moveSpan/beta))
	s.tableZero = int32(weightSpan/beta) + 1
	s.weightTable = resize(s.weightTable, int(2*s.tableZero+1))
	for i := range s.weightTable {
		s.weightTable[i] = math.Exp(beta * float64(int32(i)-s.tableZero))
	}
	for i := range s.net.phases {
		s.setPivot(int32(i))
	}
}

// setPivot makes the largest load of a phase its pivot.
func (s *pathAssignment) setPivot(phase int32) {
	weights := &s.phases[phase]
	weights.pivot, weights.sum = s.maxLoad(phase), 0
	links := s.links[s.net.base[phase]:s.net.base[phase+1]]
	for l := range links {
		links[l].weight = s.weightOf(links[l].load - weights.pivot)
		weights.sum += links[l].weight
	}
	weights.scale = 1 / weights.sum
}

// maxLoad returns the largest load of a phase.
func (s *pathAssignment) maxLoad(phase int32) (largest int32) {
	for _, link := range s.links[s.net.base[phase]:s.net.base[phase+1]] {
		largest = max(largest, link.load)
	}
	return largest
}

// Values of the parameter start of sweep.
const (
	firstSweep = true
	laterSweep = false
)

// sweep finds the cheapest paths from each source at the current prices, adds them as
// columns, and moves chunks of the flows. The first sweep (start) assigns all chunks. Later
// ones also update dualBound. The error is ErrUnreachable.
func (s *pathAssignment) sweep(start bool) error {
	net, n := s.net, s.net.n
	dual := 0.0
	var path []int32
	for u := range n {
		s.stop.Check()

		// Prices change when chunks of earlier sources move. The bound requires one set of
		// prices for all sources.
		if u == 0 || start {
			s.updatePrices()
		}
		s.tree.grow(net, int32(u), s.relay)
		for v := range n {
			f := int32(u*n + v)
			if s.demand[f] == 0 || u == v {
				continue
			}
			c := s.tree.cost[v]
			if c >= infinite {
				return unreachable(u, v)
			}
			dual += c * float64(s.demand[f])

			// Add the path if it is cheaper than all columns of the flow.
			cheapest := infinite
			if !start {
				for _, c := range s.columns[f][:s.numColumns[f]] {
					sum := 0.0
					for _, l := range s.path(c) {
						sum += s.price[l]
					}
					cheapest = min(cheapest, sum)
				}
			}

			if c < cheapest*(1-minSaving) {
				path = s.tree.appendPath(path[:0], v)
				if col := s.addColumn(f, path); start && col >= 0 {
					s.addChunks(col, s.demand[f])
				}
			}

			if !start {
				s.moveChunks(f)
			}
		}
	}

	if !start {
		s.dualBound = max(s.dualBound, dual/(1+hopPrice))
	}
	return nil
}

// moveChunks moves chunks of a flow from its costliest used column to its cheapest one
// while this lowers the smoothed sum.
func (s *pathAssignment) moveChunks(f int32) {
	columns := s.columns[f][:s.numColumns[f]]
	if len(columns) < 2 {
		return
	}
	for range 2 * maxColumns {
		costliest, cheapest := int32(-1), int32(-1)
		high, low := 0.0, infinite
		for _, c := range columns {
			p := s.cost(c)
			if s.columnChunks[c] > 0 && p > high {
				costliest, high = c, p
			}
			if p < low {
				cheapest, low = c, p
			}
		}

		if costliest < 0 || costliest == cheapest || low > high*(1-minSaving) {
			return
		}

		// A larger move would change the weights by more than some powers of e, and
		// overshoot.
		x := min(s.columnChunks[costliest], s.maxMove)
		for ; x > 0; x /= 2 {
			s.addChunks(costliest, -x)
			s.addChunks(cheapest, x)

			// The sum is convex along the move. If its slope at the end is not positive,
			// the sum has decreased.
			if s.cost(cheapest) <= s.cost(costliest) {
				break
			}
			s.addChunks(cheapest, -x)
			s.addChunks(costliest, x)
		}

		if x == 0 {
			return
		}
		s.moved += int64(x)
	}
}

// moveAllChunks calls moveChunks for each flow, twice or until nothing moves.
func (s *pathAssignment) moveAllChunks() {
	n := s.net.n
	for range 2 {
		s.moved = 0
		for f := range s.demand {
			if f%n == 0 {
				s.stop.Check()
			}
			if s.demand[f] > 0 {
				s.moveChunks(int32(f))
			}
		}

		if s.moved == 0 {
			return
		}
	}
}

// sumOfMaxLoads returns the value that improve minimises. No schedule of these paths takes
// fewer slots.
func (s *pathAssignment) sumOfMaxLoads() (sum int64) {
	for i := range s.net.phases {
		sum += int64(s.maxLoad(int32(i)))
	}
	return sum
}

// lowerBound returns a lower bound on the slots of all schedules on the network, from the
// sweeps so far.
func (s *pathAssignment) lowerBound() int64 {
	return int64(math.Ceil(s.dualBound - 1e-6))
}

// improve calls sweep the given number of times while beta increases to maxBeta (per
// chunk), and moves chunks between the columns of each flow after each sweep. It passes
// each bound to checkBound. Errors: ErrUnreachable, and the error of checkBound.
func (s *pathAssignment) improve(rounds int, maxBeta float64, checkBound func(slots int64) error) error {
	volume := 0.0
	for _, c := range s.demand {
		volume += float64(c)
	}

	// For the first sweep, 1/beta is the mean number of chunks per link if all chunks took one hop.
	// A load that is larger by this number has e times the weight.
	s.setBeta(max(1e-3, min(1, float64(len(s.net.to))/max(1, volume))))
	if err := s.sweep(firstSweep); err != nil {
		return err
	}

	// Then beta increases geometrically, from 8 / largest load to maxBeta.
	largest := int32(1)
	for i := range s.net.phases {
		largest = max(largest, s.maxLoad(int32(i)))
	}

	minRoundBeta := min(maxBeta, max(minBeta, 8/float64(largest)))
	for r := range rounds {
		s.setBeta(minRoundBeta * math.Pow(maxBeta/minRoundBeta,
			float64(r)/float64(max(1, rounds-1))))
		if err := s.sweep(laterSweep); err != nil {
			return err
		}
		if err := checkBound(s.lowerBound()); err != nil {
			return err
		}
		s.moveAllChunks()
	}

	return nil
}
