package collective

// Pattern is a traffic pattern that needs only a PatternInput and its own options. The
// options are fields of the implementation; their tags describe the keys of a scenario
// (scenarios/schema).
type Pattern interface {
	// Traffic returns the pattern with the given message size in bytes. If it is
	// impossible, it returns an error that wraps ErrTraffic and names the accepted input
	// ("; want ...").
	Traffic(p PatternInput, message int64) (*Traffic, error)
}

// PatternInput is the set of nodes to which a Pattern is applied.
type PatternInput struct {
	Nodes int
	Seed  uint64 // for random choices
	Down  []bool // marks nodes that are down; nil if all are up
}

// PatternRow is a row of Patterns.
type PatternRow struct {
	Name string
	Doc  string         // one line
	New  func() Pattern // returns a pointer to the options

	CoversAllPairs bool // every pair of nodes exchanges data
	HasOwnSizes    bool // flows have different sizes
}

// Patterns are the patterns that scenarios can name and that do not depend on links. A
// new pattern is a row here.
var Patterns = []PatternRow{
	{Name: hotspotName, Doc: "All-to-all, with a share of each node's traffic to a few nodes.",
		New: func() Pattern { return &HotSpots{} }, CoversAllPairs: true, HasOwnSizes: true},
	{Name: expertsName, Doc: "Tokens to the GPUs of their experts (dispatch), or back (combine).",
		New: func() Pattern { return &Experts{} }, HasOwnSizes: true},
}

// hotspotName is the name of the pattern in scenarios and messages.
const hotspotName = "hotspot"

// HotSpots is the pattern of Hotspot with randomly drawn hot nodes.
type HotSpots struct {
	Nodes int     `key:"hot_nodes" doc:"number of hot nodes, chosen by the seed" default:"1" min:"1" max:"1048576"`
	Share float64 `key:"hot_share" doc:"share of each node's bytes sent to hot nodes; the rest is sent to all nodes" default:"0.1" above:"0" max:"1"`
}

// Traffic returns the pattern.
func (h *HotSpots) Traffic(p PatternInput, message int64) (*Traffic, error) {
	hot, err := HotNodes(h.Nodes, p.Nodes, p.Seed, p.Down)
	if err != nil {
		return nil, err
	}
	return Hotspot(p.Nodes, message, h.Share, hot, p.Down)
}
