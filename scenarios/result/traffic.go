// This file declares the explanation of link loads in detail.json. The JSON names are part of
// the file format and never change, even if fields have clearer names: "most" is a
// maximum, "usual" is without faults, "heaviest" is the maximum load, "equal" is the
// number of tied links, and "alone" is without other traffic.

package result

// Traffic explains the link loads of a fabric under one router and the time of its
// traffic. Its size is limited and does not grow with the fabric.
type Traffic struct {
	LinkRateBitsPerS float64 `json:"link_rate_bits_per_s"` // link rate of the fabric; a link of twice the rate carries twice the load in the same time
	// Groups has one entry per dimension of a torus or per tier, or one for all links of a
	// graph.
	Groups []LinkGroup `json:"groups"`
	// Bottlenecks are the first few links with the longest busy time. NumTied is the
	// number of links with the same busy time as the first.
	Bottlenecks []LoadedLink `json:"most_loaded"`
	NumTied     int          `json:"equal"`
	// PairsUnknown reports that there are too many pairs of nodes to find out which of them
	// load the bottlenecks.
	PairsUnknown bool `json:"untraced,omitempty"`
	// FailAtS is the time of the scenario's faults; 0 if they exist from the start. The loads
	// describe the paths before the faults.
	FailAtS float64     `json:"fail_at_s,omitempty"`
	Delay   *DelayParts `json:"delay,omitempty"` // delay of packets
	Chain   *Chain      `json:"chain,omitempty"` // chain of dependent transfers that ends last
}

// LinkGroup sums up the links of one dimension or tier.
type LinkGroup struct {
	Name    string  `json:"name"`              // dimension, such as "x"; tier; or "all" for a graph
	Links   int     `json:"links"`             // number of links
	Down    int     `json:"down,omitempty"`    // number of failed links
	Drained int     `json:"drained,omitempty"` // number of links that work, but that routers must not use
	Load    float64 `json:"load"`              // messages on each link, summed over the links
	// Capacity is the sum of the rates of usable links, divided by the link rate of the
	// fabric.
	Capacity float64 `json:"capacity"`
	MaxLoad  float64 `json:"most"` // maximum over links of load / speed; see LoadedLink
	// The following fields are set at packet level. They are sums over all packets and
	// links: the number of crossings, and their waiting and transmission times.
	Packets int64   `json:"packets,omitempty"`
	WaitS   float64 `json:"wait_s,omitempty"`
	BusyS   float64 `json:"busy_s,omitempty"`
}

// LoadedLink is a link with a large load, and the nodes whose messages load it.
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
	// Pairs is the number of pairs of nodes whose messages cross the link. Sources and
	// Destinations are the numbers of different nodes in these pairs.
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

// Detour is a number of messages that cross a link only because of a fault. Cause is the
// failed or drained part of their fault-free path; "" if the router moved the messages for
// another reason.
type Detour struct {
	Cause string  `json:"cause"`
	Load  float64 `json:"load"`
}

// DelayParts splits the mean delay of packets. Serialisation and latency are computed
// from the links of all packets, and the wait is the rest. If some packets were lost or
// are not measured, the parts are approximate and Exact is false.
type DelayParts struct {
	Hops     float64 `json:"hops"`      // mean number of links per packet
	SerialS  float64 `json:"serial_s"`  // serialisation: transmission time, summed over the links of a packet
	LatencyS float64 `json:"latency_s"` // latency, summed over the links of a packet
	WaitS    float64 `json:"wait_s"`    // waiting time in queues
	Exact    bool    `json:"exact"`
}

// Chain is a chain of dependent transfers: each starts after the arrival of the previous
// one. The times of its parts add up to EndS, the end of the last transfer.
type Chain struct {
	EndS     float64     `json:"end_s"`
	Parts    []ChainPart `json:"parts"`              // in order of their first transfer
	Computes bool        `json:"computes,omitempty"` // the time between transfers includes compute tasks
}

// ChainPart sums up the transfers of a chain that use the same dimensions or tiers.
type ChainPart struct {
	Over      string  `json:"over"`      // dimensions or tiers, such as "x" or "x y"
	Transfers int     `json:"transfers"` // number of transfers
	Bytes     int64   `json:"bytes"`     // bytes of all transfers
	Src       string  `json:"src"`       // source of the first transfer
	Dst       string  `json:"dst"`       // destination of the last transfer
	LatencyS  float64 `json:"latency_s"` // latency, and time between the transfers of the chain
	UnsharedS float64 `json:"alone_s"`   // transmission time on links without other traffic
	SharingS  float64 `json:"sharing_s"` // additional time because of other traffic
}
