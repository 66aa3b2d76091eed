package machine

import "sim/engine"

// Experts is the cost of sending tokens to their experts (dispatch) and back (combine), in
// addition to the time of their bytes on the links.
type Experts struct {
	Launch engine.Time `key:"launch" doc:"time of a dispatch or a combine of few bytes: its kernel, the counts of tokens and their signals; 0s means unknown" default:"0s" min:"0"`
}

// ExpertLaunch returns Experts.Launch, or an error if it is unknown.
func (p *Profile) ExpertLaunch() (engine.Time, error) {
	if p.Experts.Launch == 0 {
		return 0, p.Missing("experts.launch", "dispatch and combine of several sizes")
	}
	return p.Experts.Launch, nil
}
