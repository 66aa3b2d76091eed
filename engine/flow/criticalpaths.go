package flow

import "math"

// criticalPaths holds the longest paths through the graph if every transfer runs at its full
// rate, that is the rate it has on an otherwise empty network. Arrays are indexed by task unless
// a comment says otherwise. Times are in ticks and need not be whole numbers.
type criticalPaths struct {
	fullRate []float64 // bits per tick
	duration []float64 // duration at full rate
	head     []float64 // earliest start
	tail     []float64 // longest path from the task's end to the end of the graph
	span     []float64 // duration + tail
	capacity []float64 // highest capacity ever, indexed by resource; nil if capacities do not change
}

// init allocates the arrays.
func (p *criticalPaths) init(m *model) {
	p.fullRate = make([]float64, m.tasks)
	p.duration = make([]float64, m.tasks)
	p.head = make([]float64, m.tasks)
	p.tail = make([]float64, m.tasks)
	p.span = make([]float64, m.tasks)
}

// computeFullRates computes fullRate and duration. Each resource counts with its highest capacity
// ever, so that bounds also hold for links that are down at first.
func (p *criticalPaths) computeFullRates(z *sim) {
	capacity := z.initialCapacity
	if z.isControlled || z.peak != nil || len(z.net.Changes) > 0 {
		if p.capacity == nil {
			p.capacity = make([]float64, z.resources)
		}
		capacity = p.capacity
		for r := range capacity {
			capacity[r] = z.maxCapacity(int32(r))
		}
	}

	for i := range z.tasks {
		if f := z.fixedDuration[i]; f >= 0 {
			p.duration[i] = float64(f)
			continue // not a transfer with uses
		}
		rate := z.rateLimit[i]
		from, to := z.useStart[i], z.useStart[i+1]
		weights := z.useWeight[from:to]
		for k, r := range z.useRes[from:to] {
			if x := capacity[r] / weights[k]; x < rate {
				rate = x
			}
		}
		p.fullRate[i] = rate
		p.duration[i] = z.bits[i] / rate
	}
}

// maxCapacity returns the highest capacity that resource r ever has, in bits per tick: at the start, by
// Evaluator.SetPeak in controlled runs, by Link.Peak, and by changes of the network.
func (z *sim) maxCapacity(r int32) float64 {
	rate := z.initialCapacity[r]
	if z.isControlled {
		rate = max(rate, z.control.peak[r])
	}
	if z.peak != nil {
		rate = max(rate, z.peak[r])
	}
	for _, c := range z.net.Changes {
		if c.Link == r {
			rate = max(rate, c.Rate*perTick)
		}
	}
	return rate
}

// computeTails computes tail and span in a backward pass. Here and in computeHeads, a comparison
// takes a third of the time of max, which has to handle NaN.
func (p *criticalPaths) computeTails(m *model) {
	order := m.graph.Order()
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		tail := 0.0
		from, to := m.outStart[i], m.outStart[i+1]
		lags := m.outLag[from:to]
		for e, o := range m.outTo[from:to] {
			if t := float64(lags[e]) + p.span[o]; t > tail {
				tail = t
			}
		}
		p.tail[i] = tail
		p.span[i] = p.duration[i] + tail
	}
}

// computeHeads computes head in a forward pass and returns the length of the longest path. It is +Inf
// if a transfer has rate 0, also if the transfer has 0 bits, so that its duration is 0/0.
func (p *criticalPaths) computeHeads(m *model) float64 {
	clear(p.head)
	longest := 0.0
	for _, i := range m.graph.Order() {
		end := p.head[i] + p.duration[i]
		longest = max(longest, end)
		from, to := m.outStart[i], m.outStart[i+1]
		lags := m.outLag[from:to]
		for e, o := range m.outTo[from:to] {
			if h := end + float64(lags[e]); h > p.head[o] {
				p.head[o] = h
			}
		}
	}
	if math.IsNaN(longest) {
		return math.Inf(1)
	}
	return longest
}
