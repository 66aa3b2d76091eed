package routing

import "sim/engine"

// RatesDiffer reports whether live links have unequal rates.
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

// referenceRate returns the rate that loads are relative to where rates differ.
func (p *Problem) referenceRate() float64 {
	if p.Rate > 0 {
		return p.Rate
	}
	return p.maxRate()
}

// maxRate returns the greatest rate of a link.
func (p *Problem) maxRate() float64 {
	rate := 0.0
	for _, l := range p.Network.Links {
		rate = max(rate, l.Rate)
	}
	return rate
}

// classifyRates sorts the orbits of links by rate; where all are equal there are none.
func (in *routeInstance) classifyRates(p *Problem) {
	if !p.RatesDiffer() {
		return
	}
	in.rateKind, in.loadPerUnit = make([]int32, in.numOrbits), nil
	kinds, reference := make(map[float64]int32), p.referenceRate()
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

// perUnit returns what a unit of demand adds to the load of an orbit: 1, or where rates differ the reference over its
// rate.
func (in *routeInstance) perUnit(o int32) float64 {
	if in.loadPerUnit == nil {
		return 1
	}
	return in.loadPerUnit[in.rateKind[o]]
}

// maxUnits returns the most units of demand on a link, whatever its rate.
func (p *Problem) maxUnits(paths *engine.Paths) float64 {
	load := make([]float64, len(p.Network.Links))
	for i, f := range p.Flows {
		d := 1.0
		if p.Demand != nil {
			d = p.Demand[i]
		}
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
