package compare

// Words are a Difference as the tables print it.
type Words struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	Change  string `json:"change"`
	Verdict string `json:"verdict"`
}

// Words returns every difference as WriteText prints it, in the order of Differences.
func (c *Comparison) Words() []Words {
	by := map[string]scale{}
	for i := range c.Metrics {
		name := c.Metrics[i].Name
		by[name] = scaleFor(name, c.listed(&c.Metrics[i], View{All: true}))
	}
	out := make([]Words, len(c.Differences))
	for i := range c.Differences {
		d := &c.Differences[i]
		out[i] = by[d.Metric].words(d)
	}
	return out
}

// words prints a difference at a scale.
func (s scale) words(d *Difference) Words {
	number := s.digitsFor(d)
	shown := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return number(*v)
	}
	return Words{shown(d.Old), shown(d.New), d.words(), d.verdict()}
}
