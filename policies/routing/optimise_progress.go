package routing

// progress reports the completed share of a search with several parts. The parts take unequal
// times, so it is an estimate, but it never decreases. A nil progress reports nothing.
type progress struct {
	report func(share float64)
	// The present part as shares of the complete search.
	start, end float64
	reported   *float64 // largest share reported so far
}

// newProgress returns the progress of a complete search.
func newProgress(report func(share float64)) *progress {
	return &progress{report: report, end: 1, reported: new(float64)}
}

// update reports a completed share of the present part, from 0 to 1.
func (p *progress) update(share float64) {
	if p == nil || p.report == nil {
		return
	}
	if x := p.start + (p.end-p.start)*min(max(share, 0), 1); x > *p.reported {
		*p.reported = x
		p.report(x)
	}
}

// part returns the progress of a subrange of the present part; start and end are shares of it.
func (p *progress) part(start, end float64) *progress {
	if p == nil {
		return nil
	}
	size := p.end - p.start
	return &progress{
		report:   p.report,
		start:    p.start + start*size,
		end:      p.start + end*size,
		reported: p.reported,
	}
}
