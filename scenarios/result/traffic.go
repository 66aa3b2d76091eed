package result

// Traffic explains the link loads of a fabric under one router and the time of its
// traffic. Its size is limited and does not grow with the fabric.
type Traffic struct {
	LinkRateBitsPerS float64 `json:"link_rate_bits_per_s"` // link rate of the fabric; a link of twice the rate carries twice the load in the same time
	// Groups are the links of each dimension of a torus, or all links of a graph.
	Groups []LinkGroup `json:"groups"`
	// Bottlenecks are the first few links with the longest busy time. NumTied is the
	// number of links with the same busy time as the first.
	Bottlenecks []LoadedLink `json:"most_loaded"`
	NumTied     int          `json:"equal"`
	// PairsUnknown reports that pairs of nodes are too many to attribute loads to them.
	PairsUnknown bool `json:"untraced,omitempty"`
	// FailAtS is the time of the scenario's faults; 0 if they exist from the start. The loads
	// describe the paths before the faults.
	FailAtS float64     `json:"fail_at_s,omitempty"`
	Delay   *DelayParts `json:"delay,omitempty"` // delay of packets
	Chain   *Chain      `json:"chain,omitempty"` // chain of dependent transfers that ends last
}

// LinkGroup is a group of equivalent links.
type LinkGroup struct {
	Name    string  `json:"name"` // dimension, such as "x", or "all" for a graph
	Links   int     `json:"links"`
	Down    int     `json:"down,omitempty"`
	Drained int     `json:"drained,omitempty"`
	Load    float64 `json:"load"` // sum of the messages on each link
	// Capacity is the number of usable links; a link of twice the fabric's rate counts as
	// two.
	Capacity float64 `json:"capacity"`
	MaxLoad  float64 `json:"most"` // largest load of a link, divided by its speed
	// Packet level: crossings of links by packets, and the sums of their waiting and
	// transmission times.
	Packets int64   `json:"packets,omitempty"`
	WaitS   float64 `json:"wait_s,omitempty"`
	BusyS   float64 `json:"busy_s,omitempty"`
}

// LoadedLink is a loaded link with the sources of its load.
type LoadedLink struct {
	Name  string  `json:"name"` // as in scenarios, such as "17 x+"
	From  string  `json:"from"`
	To    string  `json:"to"`
	Load  float64 `json:"load"`  // number of messages
	Speed float64 `json:"speed"` // rate divided by the fabric's link rate
	// FaultFreeLoad is the load under the same router without faults and drained links;
	// nil if unknown.
	FaultFreeLoad *float64 `json:"usual,omitempty"`
	Busy          *float64 `json:"busy,omitempty"` // fraction of the time to completion in which the link sends; packet level only
	// Number of pairs of nodes whose messages cross the link, and of their sources and
	// destinations.
	Pairs        int `json:"pairs,omitempty"`
	Sources      int `json:"sources,omitempty"`
	Destinations int `json:"destinations,omitempty"`
	// TopSource and TopDestination have the most messages on the link. TopPairs are the
	// pairs with the largest loads, if pairs have messages of different sizes.
	TopSource      NodeLoad   `json:"most_from,omitzero"`
	TopDestination NodeLoad   `json:"most_to,omitzero"`
	TopPairs       []PairLoad `json:"heaviest,omitempty"`
	// Detours are the messages that would not cross the link without faults, grouped by
	// the cause of the detour.
	Detours []Detour `json:"detours,omitempty"`
}

// NodeLoad is the number of messages of a node on a link.
type NodeLoad struct {
	Node string  `json:"node"`
	Load float64 `json:"load"`
}

// PairLoad is the number of messages of a pair of nodes on a link.
type PairLoad struct {
	Src  string  `json:"src"`
	Dst  string  `json:"dst"`
	Load float64 `json:"load"`
}

// Detour is messages on a path that differs from the fault-free one. Cause is the failed
// or drained part of the fault-free path; "" if the router moved the messages for another
// reason.
type Detour struct {
	Cause string  `json:"cause"`
	Load  float64 `json:"load"`
}

// DelayParts splits the mean delay of packets. Serialisation and latency are computed
// from the links of all packets, and the wait is the rest. If some packets were lost or
// are not measured, the parts are approximate and Exact is false.
type DelayParts struct {
	Hops     float64 `json:"hops"` // mean number of links per packet
	SerialS  float64 `json:"serial_s"`
	LatencyS float64 `json:"latency_s"`
	WaitS    float64 `json:"wait_s"`
	Exact    bool    `json:"exact"`
}

// Chain is transfers in order of time; each starts after the arrival of the previous one.
// The parts add up to EndS.
type Chain struct {
	EndS     float64     `json:"end_s"`
	Parts    []ChainPart `json:"parts"`              // in order of their first transfer
	Computes bool        `json:"computes,omitempty"` // the time between transfers includes compute tasks
}

// ChainPart is the transfers of a chain over the same dimensions.
type ChainPart struct {
	Over      string  `json:"over"` // dimensions, such as "x" or "x y"
	Transfers int     `json:"transfers"`
	Bytes     int64   `json:"bytes"`
	Src       string  `json:"src"` // source of the first transfer
	Dst       string  `json:"dst"` // destination of the first transfer
	LatencyS  float64 `json:"latency_s"`
	UnsharedS float64 `json:"alone_s"`   // transmission time on links without other traffic
	SharingS  float64 `json:"sharing_s"` // additional time because of other traffic
}
