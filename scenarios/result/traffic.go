package result

// Traffic is what loads the links of a fabric under one router, and where the time of its traffic goes, for
// explanations. Its size is bounded: it does not grow with the fabric.
type Traffic struct {
	LinkRateBitsPerS float64 `json:"link_rate_bits_per_s"` // of the fabric; a link of twice the rate stands twice the load
	// Groups are the links of each dimension of a torus, or all links of a graph.
	Groups []LinkGroup `json:"groups"`
	// Bottlenecks are the first of the links that take longest to carry their load; Equal is how many take as long as
	// the first.
	Bottlenecks []LoadedLink `json:"most_loaded"`
	NumTied     int          `json:"equal"`
	// Untraced: there are too many pairs of nodes to say which load the links.
	PairsUnknown bool `json:"untraced,omitempty"`
	// FailAtS is when what the scenario names as down fails, 0 from the start. Loads are then of the routes before.
	FailAtS float64     `json:"fail_at_s,omitempty"`
	Delay   *DelayParts `json:"delay,omitempty"` // of packets
	Chain   *Chain      `json:"chain,omitempty"` // of transfers that wait for each other, or of the last to end
}

// LinkGroup is links that are identical.
type LinkGroup struct {
	Name    string  `json:"name"` // "x"; "all" of a graph
	Links   int     `json:"links"`
	Down    int     `json:"down,omitempty"`
	Drained int     `json:"drained,omitempty"`
	Load    float64 `json:"load"` // messages that cross the links, in all
	// Capacity is the links that may be used, one of twice the fabric's rate counting as two.
	Capacity float64 `json:"capacity"`
	MaxLoad  float64 `json:"most"` // largest load of a link over how much faster than the fabric's rate it is
	// Of packets: those that crossed the links, each time counted, and how long they waited before them and were sent,
	// in all.
	Packets int64   `json:"packets,omitempty"`
	WaitS   float64 `json:"wait_s,omitempty"`
	BusyS   float64 `json:"busy_s,omitempty"`
}

// LoadedLink is a link, and who loads it.
type LoadedLink struct {
	Name  string  `json:"name"` // as scenarios have it, such as "17 x+"
	From  string  `json:"from"`
	To    string  `json:"to"`
	Load  float64 `json:"load"`  // messages
	Speed float64 `json:"speed"` // its rate over the fabric's
	// FaultFreeLoad is its load under the same router where nothing is down or drained; nil where that is not known.
	FaultFreeLoad *float64 `json:"usual,omitempty"`
	Busy          *float64 `json:"busy,omitempty"` // share of the time to the end that it was sending; of packets
	// Pairs of nodes whose messages cross it, and how many sources and destinations they have.
	Pairs        int `json:"pairs,omitempty"`
	Sources      int `json:"sources,omitempty"`
	Destinations int `json:"destinations,omitempty"`
	// TopSource and MostTo are the source and the destination of most of its messages; Heaviest the pairs that load it
	// most, where pairs have messages of different sizes.
	TopSource      NodeLoad   `json:"most_from,omitzero"`
	TopDestination NodeLoad   `json:"most_to,omitzero"`
	TopPairs       []PairLoad `json:"heaviest,omitempty"`
	// Detours are the messages that cross it and would not if nothing were down or drained, by what of their usual
	// route is.
	Detours []Detour `json:"detours,omitempty"`
}

// NodeLoad is the messages of a node on a link.
type NodeLoad struct {
	Node string  `json:"node"`
	Load float64 `json:"load"`
}

// PairLoad is the messages of a pair of nodes on a link.
type PairLoad struct {
	Src  string  `json:"src"`
	Dst  string  `json:"dst"`
	Load float64 `json:"load"`
}

// Detour is messages whose route is not the usual one. Cause names what is down or drained on that, "" where nothing is
// and the router has moved them.
type Detour struct {
	Cause string  `json:"cause"`
	Load  float64 `json:"load"`
}

// DelayParts splits the mean delay of packets. Serialisation and latency are of all packets' links; where some packets
// were lost, or are not measured, the parts are so nearly (Exact is false), the wait being the rest.
type DelayParts struct {
	Hops     float64 `json:"hops"` // mean links of a packet
	SerialS  float64 `json:"serial_s"`
	LatencyS float64 `json:"latency_s"`
	WaitS    float64 `json:"wait_s"`
	Exact    bool    `json:"exact"`
}

// Chain is transfers in order of time, each of which begins when that before it has arrived. Its parts add up to its
// end.
type Chain struct {
	EndS     float64     `json:"end_s"`
	Parts    []ChainPart `json:"parts"`              // in order of their first transfer
	Computes bool        `json:"computes,omitempty"` // what lies between transfers is compute, beside latency
}

// ChainPart is the transfers of a chain over the same links.
type ChainPart struct {
	Over      string  `json:"over"` // dimensions: "x", "x y"
	Transfers int     `json:"transfers"`
	Bytes     int64   `json:"bytes"`
	Src       string  `json:"src"` // of the first
	Dst       string  `json:"dst"`
	LatencyS  float64 `json:"latency_s"`
	UnsharedS float64 `json:"alone_s"`   // sending, had each had its links to itself
	SharingS  float64 `json:"sharing_s"` // more, because others use them
}
