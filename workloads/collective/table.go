package collective

// Pattern is who sends how much to whom, where that takes no more to say than a Place and the options that are its
// fields. Their tags describe the keys that a scenario gives them by (scenarios/schema).
type Pattern interface {
	// Traffic lays out the pattern with messages of so many bytes. It fails, with ErrTraffic, if that cannot be; the error
	// says what can ("; want ...").
	Traffic(p PatternInput, message int64) (*Traffic, error)
}

// PatternInput is what a Pattern is laid out on.
type PatternInput struct {
	Nodes int
	Seed  uint64
	Down  []bool // nodes that are down; nil is none
}

// PatternRow is a named pattern.
type PatternRow struct {
	Name string
	Doc  string         // one line
	New  func() Pattern // points to its options

	CoversAllPairs bool // every pair of nodes exchanges something
	HasOwnSizes    bool // messages have sizes of their own
}

// Patterns are the patterns that scenarios may name beside those that look at links. A new one is a row here.
var Patterns = []PatternRow{
	{Name: hotspotName, Doc: "All to all, with a share of each node's traffic to a few nodes.",
		New: func() Pattern { return &HotSpots{} }, CoversAllPairs: true, HasOwnSizes: true},
}

const hotspotName = "hotspot"

// HotSpots is the pattern of Hotspot with nodes that are drawn.
type HotSpots struct {
	Nodes int     `key:"hot_nodes" doc:"nodes that draw more traffic, chosen by the seed" default:"1" min:"1" max:"1048576"`
	Share float64 `key:"hot_share" doc:"share of each node's bytes that goes to them, beside the rest to all" default:"0.1" above:"0" max:"1"`
}

// Traffic lays the pattern out.
func (h *HotSpots) Traffic(p PatternInput, message int64) (*Traffic, error) {
	hot, err := HotNodes(h.Nodes, p.Nodes, p.Seed, p.Down)
	if err != nil {
		return nil, err
	}
	return Hotspot(p.Nodes, message, h.Share, hot, p.Down)
}
