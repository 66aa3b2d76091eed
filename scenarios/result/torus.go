package result

// Torus is a torus or mesh, and what each of its links carries.
type Torus struct {
	Dims  []int       `json:"dims"`
	Unit  string      `json:"unit"` // of loads: "messages"
	Links []TorusLink `json:"links"`
	// Routes are routes worth showing, such as those round a fault.
	Routes []TorusRoute `json:"ways,omitempty"`
}

// TorusLink is a directed link. Nodes are numbered with the last dimension fastest.
type TorusLink struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Dim   int     `json:"dim"`
	Up    bool    `json:"up,omitempty"`
	Wrap  bool    `json:"wrap,omitempty"`  // goes round the torus
	State string  `json:"state,omitempty"` // "down", "drained"; "" is up
	Load  float64 `json:"load"`
}

// TorusRoute is the route of a pair of nodes.
type TorusRoute struct {
	Src   int   `json:"src"`
	Dst   int   `json:"dst"`
	Links []int `json:"links"`           // indices into Links, in order
	Usual bool  `json:"usual,omitempty"` // the one that is taken where nothing is down
}

// Delay is how long packets took from source to destination.
type Delay struct {
	MeanS float64    `json:"mean_s"`
	P50S  float64    `json:"p50_s"`
	P99S  float64    `json:"p99_s"`
	MaxS  float64    `json:"max_s"`
	Bins  []DelayBin `json:"bins"` // ordered
}

// DelayBin counts packets with delays in [FromS, ToS).
type DelayBin struct {
	FromS   float64 `json:"from_s"`
	ToS     float64 `json:"to_s"`
	Packets int64   `json:"packets"`
}
