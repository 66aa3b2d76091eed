package routing

// progress tells how far a search of several parts has come. Parts take unequal times, so it is rough, but it never goes
// back. A nil progress tells nobody.
type progress struct {
	tell     func(share float64)
	from, to float64  // the part that is searched, of the whole
	told     *float64 // the greatest share that was told, of the whole
}

// newProgress returns the progress of a whole search.
func newProgress(tell func(share float64)) *progress {
	return &progress{tell: tell, to: 1, told: new(float64)}
}

// at tells that a share of the present part is done, from 0 to 1.
func (p *progress) at(share float64) {
	if p == nil || p.tell == nil {
		return
	}
	if x := p.from + (p.to-p.from)*min(max(share, 0), 1); x > *p.told {
		*p.told = x
		p.tell(x)
	}
}

// part returns the progress of a part of the present part, which begins and ends at shares of it.
func (p *progress) part(from, to float64) *progress {
	if p == nil {
		return nil
	}
	size := p.to - p.from
	return &progress{tell: p.tell, from: p.from + from*size, to: p.from + to*size, told: p.told}
}
