package pack

import (
	"math"

	"sim/policies/reconfigure/halt"
)

// spread is the assignment of all chunks to paths through a network. It lowers sum_i max_e load_ie, the largest loads
// of all phases together, which bounds the slots from below.
//
// The price of link e of phase i is the derivative of that sum with each maximum smoothed to log(sum_e exp(beta
// load_ie)) / beta: exp(beta load_ie) / sum_e exp(beta load_ie). Chunks move to cheaper paths, found by shortest paths
// under these prices, while beta rises (Shahrokhi and Matula, 1990, for the maximum load of one network). The prices of
// a phase add up to 1, so that sum over chunks of the cheapest path's price is a lower bound of the sum of maxima: the
// dual of the linear program.
type spread struct {
	net   *network
	need  []int32 // chunks, by flow
	relay bool

	links  []link
	phases []phase

	// Column c of flow flowOf[c] is the way ways[first[c]:first[c+1]], taken by count[c] chunks. columns lists those of
	// a flow.
	flowOf, first, ways, count []int32
	columns                    [][maxColumns]int32
	many                       []int8

	stride int32     // most chunks that move at once
	table  []float64 // weight by load - pivot + zero
	zero   int32

	tree  tree
	price []float64
	// floor is the best dual bound seen.
	floor float64
	moved int64
	stop  halt.When
}

// link is how a link is loaded; its weight is exp(beta (load - pivot)), cut off.
type link struct {
	weight      float64
	load, phase int32
}

// phase has the sum of its links' weights, scale, which is 1 / sum, and flat, what a hop costs beside (see hop).
type phase struct {
	sum, scale, flat float64
	pivot            int32
}

const (
	// maxColumns is how many paths of one flow are kept; a new one takes the place of the dearest that is not used.
	maxColumns = 6
	// hop is added to a link's price, in shares of the mean price, so that of equals the path with fewer hops is
	// cheapest.
	hop = 0.02
	// span cuts weights off at exp(-span) and exp(span): farther from the largest load nothing is to be told apart.
	span = 30.0
	// stride / beta chunks move at once at most.
	stride = 6.0
	// coolest is the least beta, which bounds the table of weights where loads are above 80,000.
	coolest = 1e-4
)

func (s *spread) init(net *network, need []int32, relay bool) {
	*s = spread{net: net, need: need, relay: relay, tree: s.tree, price: s.price, table: s.table, links: s.links,
		phases: s.phases, flowOf: s.flowOf[:0], ways: s.ways[:0], count: s.count[:0], first: append(s.first[:0], 0),
		columns: s.columns, many: s.many, stop: s.stop}
	s.links, s.price = sized(s.links, len(net.to)), sized(s.price, len(net.to))
	for l, i := range net.phase {
		s.links[l] = link{phase: i}
	}
	s.phases = sized(s.phases, net.phases)
	for i := range s.phases {
		s.phases[i] = phase{flat: hop / float64(max(1, net.base[i+1]-net.base[i]))}
	}
	s.columns, s.many = sized(s.columns, len(need)), zeroed(s.many, len(need))
}

// add gives a flow a column without chunks and returns it; -1 where all of its columns are used.
func (s *spread) add(flow int32, way []int32) int32 {
	c := int32(len(s.count))
	at := int(s.many[flow])
	if at == maxColumns {
		at = -1
		worst := 0.0
		for j, other := range s.columns[flow] {
			if s.count[other] == 0 {
				if p := s.cost(other); p > worst {
					at, worst = j, p
				}
			}
		}
		if at < 0 {
			return -1
		}
	} else {
		s.many[flow]++
	}
	s.columns[flow][at] = c
	s.ways = append(s.ways, way...)
	s.first = append(s.first, int32(len(s.ways)))
	s.flowOf, s.count = append(s.flowOf, flow), append(s.count, 0)
	return c
}

func (s *spread) way(c int32) []int32 { return s.ways[s.first[c]:s.first[c+1]] }

// cost is what a column's path costs at the current weights.
func (s *spread) cost(c int32) float64 {
	sum := 0.0
	links, phases := s.links, s.phases
	for _, l := range s.way(c) {
		k := &links[l]
		i := &phases[k.phase]
		sum += k.weight*i.scale + i.flat
	}
	return sum
}

// current sets the prices to the current ones.
func (s *spread) current() {
	for l, k := range s.links {
		i := &s.phases[k.phase]
		s.price[l] = k.weight*i.scale + i.flat
	}
	s.tree.set(s.net, s.price)
}

// shift adds x chunks to a column and its links.
func (s *spread) shift(c, x int32) {
	s.count[c] += x
	links, phases := s.links, s.phases
	for _, l := range s.way(c) {
		k := &links[l]
		k.load += x
		i := &phases[k.phase]
		w := s.weigh(k.load - i.pivot)
		i.sum += w - k.weight
		k.weight = w
		// Far from the pivot the sum loses its digits.
		if i.sum < 1e-5 || i.sum > 1e6 {
			s.rebase(k.phase)
		}
		i.scale = 1 / i.sum
	}
}

// weigh is the weight of a load so far above the pivot.
func (s *spread) weigh(above int32) float64 {
	return s.table[max(0, min(above+s.zero, int32(len(s.table)-1)))]
}

// heat sets beta and computes all weights anew.
func (s *spread) heat(beta float64) {
	s.stride = max(1, int32(stride/beta))
	s.zero = int32(span/beta) + 1
	s.table = sized(s.table, int(2*s.zero+1))
	for i := range s.table {
		s.table[i] = math.Exp(beta * float64(int32(i)-s.zero))
	}
	for i := range s.net.phases {
		s.rebase(int32(i))
	}
}

// rebase makes the largest load of a phase its pivot.
func (s *spread) rebase(phase int32) {
	i := &s.phases[phase]
	i.pivot, i.sum = s.top(phase), 0
	links := s.links[s.net.base[phase]:s.net.base[phase+1]]
	for l := range links {
		links[l].weight = s.weigh(links[l].load - i.pivot)
		i.sum += links[l].weight
	}
	i.scale = 1 / i.sum
}

// top is the largest load of a phase.
func (s *spread) top(phase int32) (most int32) {
	for _, k := range s.links[s.net.base[phase]:s.net.base[phase+1]] {
		most = max(most, k.load)
	}
	return most
}

// sweep grows the tree of every source at the current prices, offers its ways to the flows and lets their chunks move.
// The first sweep (start) assigns all chunks. Errors: ErrUnreachable.
func (s *spread) sweep(start bool) error {
	net, n := s.net, s.net.n
	dual := 0.0
	var way []int32
	for u := range n {
		s.stop.Check()
		// Prices move with the chunks of the sources before; the bound needs one set of prices for all.
		if u == 0 || start {
			s.current()
		}
		s.tree.grow(net, int32(u), s.relay)
		for v := range n {
			f := int32(u*n + v)
			if s.need[f] == 0 || u == v {
				continue
			}
			c := s.tree.cost[v]
			if c >= far {
				return unreachable(u, v)
			}
			dual += c * float64(s.need[f])
			known := far
			if !start {
				for _, c := range s.columns[f][:s.many[f]] {
					sum := 0.0
					for _, l := range s.way(c) {
						sum += s.price[l]
					}
					known = min(known, sum)
				}
			}
			if c < known*(1-1e-6) {
				way = s.tree.way(way[:0], v)
				if col := s.add(f, way); start && col >= 0 {
					s.shift(col, s.need[f])
				}
			}
			if !start {
				s.settle(f)
			}
		}
	}
	if !start {
		s.floor = max(s.floor, dual/(1+hop))
	}
	return nil
}

// settle moves chunks of a flow from its dearest column in use to its cheapest while that lowers the smoothed sum.
func (s *spread) settle(f int32) {
	columns := s.columns[f][:s.many[f]]
	if len(columns) < 2 {
		return
	}
	for range 2 * maxColumns {
		worst, best := int32(-1), int32(-1)
		high, low := 0.0, far
		for _, c := range columns {
			p := s.cost(c)
			if s.count[c] > 0 && p > high {
				worst, high = c, p
			}
			if p < low {
				best, low = c, p
			}
		}
		if worst < 0 || worst == best || low > high*(1-1e-6) {
			return
		}
		// To move more than changes the weights by some powers of e would overshoot.
		x := min(s.count[worst], s.stride)
		for ; x > 0; x /= 2 {
			s.shift(worst, -x)
			s.shift(best, x)
			// The sum is convex along the move: if its slope at the end is not above 0, it has fallen.
			if s.cost(best) <= s.cost(worst) {
				break
			}
			s.shift(best, -x)
			s.shift(worst, x)
		}
		if x == 0 {
			return
		}
		s.moved += int64(x)
	}
}

// settleAll settles every flow a few times, while anything moves.
func (s *spread) settleAll() {
	n := s.net.n
	for range 2 {
		s.moved = 0
		for f := range s.need {
			if f%n == 0 {
				s.stop.Check()
			}
			if s.need[f] > 0 {
				s.settle(int32(f))
			}
		}
		if s.moved == 0 {
			return
		}
	}
}

// total is what improve lowers, the sum of the largest loads of all phases; no schedule of these paths takes fewer
// slots.
func (s *spread) total() (sum int64) {
	for i := range s.net.phases {
		sum += int64(s.top(int32(i)))
	}
	return sum
}

// bound is a lower bound of all schedules on the network, by the sweeps so far.
func (s *spread) bound() int64 { return int64(math.Ceil(s.floor - 1e-6)) }

// improve sweeps rounds times with beta rising to sharp (per chunk), between them settling flows among their columns.
// Errors: ErrUnreachable, and what bounded, which is told every bound, returns.
func (s *spread) improve(rounds int, sharp float64, bounded func(slots int64) error) error {
	volume := 0.0
	for _, c := range s.need {
		volume += float64(c)
	}
	// The chunks of a link in a phase if all went straight: twice as many weigh e times more.
	s.heat(max(1e-3, min(1, float64(len(s.net.to))/max(1, volume))))
	if err := s.sweep(true); err != nil {
		return err
	}
	most := int32(1)
	for i := range s.net.phases {
		most = max(most, s.top(int32(i)))
	}
	low := min(sharp, max(coolest, 8/float64(most)))
	for r := range rounds {
		s.heat(low * math.Pow(sharp/low, float64(r)/float64(max(1, rounds-1))))
		if err := s.sweep(false); err != nil {
			return err
		}
		if err := bounded(s.bound()); err != nil {
			return err
		}
		s.settleAll()
	}
	return nil
}
