package routing

import "sim/engine"

// RatesDiffer reports whether live links have unequal rates.
func (p *Problem) RatesDiffer() bool {
	first := 0.0
	for _, l := range p.Network.Links {
		switch {
		case l.Rate <= 0:
		case first == 0:
			first = l.Rate
		case l.Rate != first:
			return true
		}
	}
	return false
}

// reference returns the rate that loads are relative to where rates differ.
func (p *Problem) reference() float64 {
	if p.Rate > 0 {
		return p.Rate
	}
	return p.fastest()
}

// fastest returns the greatest rate of a link.
func (p *Problem) fastest() float64 {
	most := 0.0
	for _, l := range p.Network.Links {
		most = max(most, l.Rate)
	}
	return most
}

// rates sorts the orbits of links by rate; where all are equal there are none.
func (in *instance) rates(p *Problem) {
	if !p.RatesDiffer() {
		return
	}
	in.kind, in.slow = make([]int32, in.orbits), nil
	known, by := make(map[float64]int32), p.reference()
	for k, l := range in.link {
		if in.orbit[k] < 0 {
			continue
		}
		rate := p.Network.Links[l].Rate
		kind, ok := known[rate]
		if !ok {
			kind = int32(len(in.slow))
			known[rate] = kind
			in.slow = append(in.slow, by/rate)
		}
		in.kind[in.orbit[k]] = kind
	}
}

// perUnit returns what a unit of demand adds to the load of an orbit: 1, or where rates differ the reference over its
// rate.
func (in *instance) perUnit(o int32) float64 {
	if in.slow == nil {
		return 1
	}
	return in.slow[in.kind[o]]
}

// units returns the most units of demand on a link, whatever its rate.
func (p *Problem) units(w *engine.Paths) float64 {
	load := make([]float64, len(p.Network.Links))
	for i, f := range p.Flows {
		d := 1.0
		if p.Demand != nil {
			d = p.Demand[i]
		}
		path, _ := w.Of(w.ClassOf(int32(i)))
		at := f.Src
		for _, s := range w.Steps(path) {
			l := w.Link[int(at)*w.Degree+s.Port()]
			load[l] += d
			at = p.Network.Links[l].To
		}
	}
	return top(load)
}
