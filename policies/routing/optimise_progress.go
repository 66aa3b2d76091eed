package routing

// progress tells how far a search of several parts has come. Parts take unequal times, so it is rough, but it never goes
// back. A nil progress tells nobody.
type progress struct {
	report     func(share float64)
	start, end float64  // the part that is searched, of the whole
	reported   *float64 // the greatest share that was told, of the whole
}

// newProgress returns the progress of a whole search.
func newProgress(report func(share float64)) *progress {
	return &progress{report: report, end: 1, reported: new(float64)}
}

// update tells that a share of the present part is done, from 0 to 1.
func (p *progress) update(share float64) {
	if p == nil || p.report == nil {
		return
	}
	if x := p.start + (p.end-p.start)*min(max(share, 0), 1); x > *p.reported {
		*p.reported = x
		p.report(x)
	}
}

// part returns the progress of a part of the present part, which begins and ends at shares of it.
func (p *progress) part(start, end float64) *progress {
	if p == nil {
		return nil
	}
	size := p.end - p.start
	return &progress{report: p.report, start: p.start + start*size, end: p.start + end*size, reported: p.reported}
}
