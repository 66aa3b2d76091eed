package collective

// Pattern is who sends how much to whom, where that takes no more to say than a Place and the options that are its
// fields. Their tags describe the keys that a scenario gives them by (scenarios/schema).
type Pattern interface {
	// Traffic lays out the pattern with messages of so many bytes. It fails, with ErrTraffic, if that cannot be; the error
	// says what can ("; want ...").
	Traffic(p Place, message int64) (*Traffic, error)
}

// Place is what a Pattern is laid out on.
type Place struct {
	Nodes int
	Seed  uint64
	Down  []bool // nodes that are down; nil is none
}

// Row is a named pattern.
type Row struct {
	Name string
	Doc  string         // one line
	New  func() Pattern // points to its options

	EveryPair bool // every pair of nodes exchanges something
	OwnSizes  bool // messages have sizes of their own
}

// Patterns are the patterns that scenarios may name beside those that look at links. A new one is a row here.
var Patterns = []Row{
	{Name: hotspotName, Doc: "All to all, with a share of each node's traffic to a few nodes.", New: func() Pattern { return &HotSpots{} }, EveryPair: true, OwnSizes: true},
}

const hotspotName = "hotspot"

// HotSpots is the pattern of Hotspot with nodes that are drawn.
type HotSpots struct {
	Nodes int     `key:"hot_nodes" doc:"number of hot nodes, chosen by the seed" default:"1" min:"1" max:"1048576"`
	Share float64 `key:"hot_share" doc:"share of each node's bytes sent to hot nodes; the rest is sent to all nodes" default:"0.1" above:"0" max:"1"`
}

// Traffic lays the pattern out.
func (h *HotSpots) Traffic(p Place, message int64) (*Traffic, error) {
	hot, err := HotNodes(h.Nodes, p.Nodes, p.Seed, p.Down)
	if err != nil {
		return nil, err
	}
	return Hotspot(p.Nodes, message, h.Share, hot, p.Down)
}
