package routing

import "sim/engine"

// RatesDiffer reports whether live links have different rates.
func (p *Problem) RatesDiffer() bool {
	rate := 0.0
	for _, l := range p.Network.Links {
		switch {
		case l.Rate <= 0:
		case rate == 0:
			rate = l.Rate
		case l.Rate != rate:
			return true
		}
	}

	return false
}

// referenceRate returns the rate to which loads refer if rates differ.
func (p *Problem) referenceRate() float64 {
	if p.Rate > 0 {
		return p.Rate
	}
	return p.maxRate()
}

// maxRate returns the highest rate of a link.
func (p *Problem) maxRate() float64 {
	rate := 0.0
	for _, l := range p.Network.Links {
		rate = max(rate, l.Rate)
	}
	return rate
}

// classifyRates sets rateKind and loadPerUnit; both stay nil if all rates are equal.
func (in *routeInstance) classifyRates(p *Problem) {
	if !p.RatesDiffer() {
		return
	}
	in.rateKind = make([]int32, in.numOrbits)
	in.loadPerUnit = nil
	kinds := make(map[float64]int32)

	// Number the distinct rates. All links of an orbit have one rate.
	reference := p.referenceRate()
	for k, l := range in.link {
		if in.orbit[k] < 0 {
			continue
		}
		rate := p.Network.Links[l].Rate
		kind, ok := kinds[rate]
		if !ok {
			kind = int32(len(in.loadPerUnit))
			kinds[rate] = kind
			in.loadPerUnit = append(in.loadPerUnit, reference/rate)
		}
		in.rateKind[in.orbit[k]] = kind
	}
}

// perUnit returns the load that one unit of demand adds to an orbit: 1, or the reference rate
// divided by its rate.
func (in *routeInstance) perUnit(o int32) float64 {
	if in.loadPerUnit == nil {
		return 1
	}
	return in.loadPerUnit[in.rateKind[o]]
}

// maxUnits returns the maximum units of demand on a link, regardless of its rate.
func (p *Problem) maxUnits(paths *engine.Paths) float64 {
	load := make([]float64, len(p.Network.Links))
	for i, f := range p.Flows {
		d := 1.0
		if p.Demand != nil {
			d = p.Demand[i]
		}

		// Follow the path of the flow and add its demand to each link.
		path, _ := paths.Of(paths.ClassOf(int32(i)))
		node := f.Src
		for _, s := range paths.Steps(path) {
			l := paths.Link[int(node)*paths.Degree+s.Port()]
			load[l] += d
			node = p.Network.Links[l].To
		}
	}

	return maxOf(load)
}
