package flow

import "math"

// criticalPaths holds what the graph alone says when every transfer runs at the full rate that the network allows one transfer:
// its duration, the earliest start (head) and the longest path from its end to the end of the graph (tail). All in
// ticks, as numbers that need not be whole.
type criticalPaths struct {
	fullRate []float64 // bits a tick
	duration []float64 // duration at full rate
	head     []float64
	tail     []float64
	span     []float64 // tau + tail
	capacity []float64 // by resource: the highest capacity that it ever has, where that may not be the first
}

func (p *criticalPaths) init(m *model) {
	p.fullRate = make([]float64, m.tasks)
	p.duration = make([]float64, m.tasks)
	p.head = make([]float64, m.tasks)
	p.tail = make([]float64, m.tasks)
	p.span = make([]float64, m.tasks)
}

// computeFullRates computes full and tau for the capacities at the start of a run. A link that is down at the start but comes
// up later counts at its highest rate, so that the bounds stay bounds.
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
			continue
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

// maxCapacity returns the highest capacity that r ever has.
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

// computeTails fills tail and span by one backward pass. Here as in computeHeads a comparison takes a third of the time
// of max, which minds what is no number.
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

// computeHeads fills head by one forward pass and returns the length of the longest path.
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
