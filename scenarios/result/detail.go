package result

// Detail is detail.json: the data of figures and explanations. With it they can be made
// again from a run directory without a simulation.
type Detail struct {
	Title string `json:"title"` // title of the scenario
	// Reference is the simulation of the ideal fabric. Policies has one entry per row of
	// the document, in the same order.
	Reference Simulation   `json:"reference"`
	Policies  []Simulation `json:"policies"`
	Windows   Windows      `json:"windows"`
	// Omitted lists, for people, the parts that were sampled or left out because of their
	// size.
	Omitted []string `json:"omitted,omitempty"`
}

// Simulation is one simulation of the workload: under a policy's decision, or on the ideal fabric.
type Simulation struct {
	Policy    string     `json:"policy"`
	Service   string     `json:"service"` // rate sharing, such as "max-min" or "level-priority"
	MakespanS float64    `json:"makespan_s"`
	Tracks    []Track    `json:"lanes"`    // execution trace, by stage
	Demand    []Series   `json:"demand"`   // bandwidth leaving each pod over time, in bits per second
	Rates     []Series   `json:"rates"`    // rates of gradient synchronisation by stage over time, in bits per second; Group is the shared link
	Circuits  []Series   `json:"circuits"` // rate of each circuit bundle and direction over time, in bits per second
	Topology  *Topology  `json:"topology,omitempty"`
	Path      []PathStep `json:"path"` // critical path, in order of time
	Torus     *Torus     `json:"lattice,omitempty"`
	Graph     *Graph     `json:"graph,omitempty"`
	Delay     *Delay     `json:"delay,omitempty"` // delays of packets
	// DelayShared is the delay at a load that is the same for all policies: the largest
	// at which no policy overloads a link. LoadShare is that load divided by the load of
	// Delay. They are nil and 0 if all loads are equal or not simulated.
	DelayShared *Delay    `json:"delay_shared,omitempty"`
	LoadShare   float64   `json:"load_share,omitempty"`
	Schedule    *Schedule `json:"schedule,omitempty"`
	Traffic     *Traffic  `json:"traffic,omitempty"` // loads of links
	Fleet       *Fleet    `json:"fleet,omitempty"`
	// Jobs are the parts of several jobs. Policy is the name of the job. Topology
	// contains its circuits; the ports of a pod are the job's own and the unused ones.
	Jobs []Simulation `json:"jobs,omitempty"`
	// Timeline is the activity on links; nil unless requested.
	Timeline *Timeline `json:"-"`
	// Nodes are the tracks of the timeline, and Links the rates of the most loaded links.
	// Only short timelines have them.
	Nodes []Track  `json:"nodes,omitempty"`
	Links []Series `json:"links,omitempty"`
	// Moves are the changes of circuits during an iteration. Topology is the one at its
	// start. UnchangedS is the iteration time without moves.
	Moves      []Move  `json:"moves,omitempty"`
	UnchangedS float64 `json:"unchanged_s,omitempty"`
}

// Move is a change of circuits in an iteration.
type Move struct {
	Event    string      `json:"when"` // event that triggers the change
	AtS      float64     `json:"at_s"`
	UpS      float64     `json:"up_s"` // time at which the new circuits carry traffic
	Circuits []PairMoves `json:"circuits"`
}

// PairMoves is the change of the circuits between pods A and B, from From to To circuits.
type PairMoves struct {
	A    int  `json:"a"`
	B    int  `json:"b"`
	DP   bool `json:"dp,omitempty"`
	From int  `json:"from"`
	To   int  `json:"to"`
}

// Track is a row of an execution trace, such as a pipeline stage.
type Track struct {
	Name  string `json:"name"`  // "stage 3"
	Group string `json:"group"` // "pod 1"
	Spans []Span `json:"spans"` // sorted by start
}

// Span is a task on a track.
type Span struct {
	Kind   string  `json:"kind"`  // "forward", "backward", "pp-forward", "pp-backward", "dp"
	Label  string  `json:"label"` // short text: the number of the micro-batch, from 1
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	Bytes  int64   `json:"bytes,omitempty"` // bytes of a transfer
	// Critical reports whether the task is on the critical path.
	Critical bool `json:"critical,omitempty"`
}

// Series is a step function of time: Value[i] holds from TimeS[i] to TimeS[i+1]. The last
// value is 0.
type Series struct {
	Name  string    `json:"name"`
	Group string    `json:"group,omitempty"`
	TimeS []float64 `json:"time_s"`
	Value []float64 `json:"value"`
}

// Topology is the circuits between pods.
type Topology struct {
	Pods  []PodPorts `json:"pods"`
	Pairs []Pair     `json:"pairs"`
}

// PodPorts is a pod of a Topology.
type PodPorts struct {
	Name    string `json:"name"`    // "pod 0"
	Replica int    `json:"replica"` // index of the replica
	Used    int    `json:"used"`
	Total   int    `json:"total"`
	// Even is the even share of the pod's ports for one of several jobs.
	Even int `json:"even,omitempty"`
}

// Pair is a bundle of circuits. In a topology reduced to one replica, the bundle to the
// DP peers in neighbouring replicas has A == B and DP set.
type Pair struct {
	A        int  `json:"a"` // index into Pods
	B        int  `json:"b"`
	Circuits int  `json:"circuits"`
	DP       bool `json:"twin,omitempty"` // to the same pod of each neighbouring replica
	Copies   int  `json:"copies"`         // number of bundles of pod A to DP peers: 1, or 2 on a ring of more than two replicas
}

// PathStep is a step of the critical path. LagS is the fixed work inside pods before it.
// CircuitS and SharingS split the time beyond IdealS.
type PathStep struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // like Span.Kind, or "compute"
	StartS   float64 `json:"start_s"`
	EndS     float64 `json:"end_s"`
	LagS     float64 `json:"lag_s"`
	IdealS   float64 `json:"ideal_s"`   // duration at the full rate of the NICs
	CircuitS float64 `json:"circuit_s"` // loss by fewer circuits than flows
	SharingS float64 `json:"sharing_s"` // loss by sharing circuits or NICs
	Link     string  `json:"link,omitempty"`
}

// Windows are the time windows of transfers before a topology is chosen (DELTA, Figs. 5
// and 12). The slices are indexed by transfer of the reduced DAG.
type Windows struct {
	Task      []string  `json:"task"`
	EarliestS []float64 `json:"earliest_s"` // earliest start (Alg. 4)
	LatestS   []float64 `json:"latest_s"`   // latest completion (Alg. 4)
	// Baseline is the policy whose circuits are used to simulate StartS and EndS: the
	// best one that uses only the traffic matrix.
	Baseline  string    `json:"baseline,omitempty"`
	StartS    []float64 `json:"start_s"`   // start on the baseline's circuits
	EndS      []float64 `json:"end_s"`     // end on the baseline's circuits
	Intervals int       `json:"intervals"` // K: intervals between events of the baseline
	FirstK    []int     `json:"first_k"`   // first interval in which the transfer is active in the baseline, from 1 (Fig. 5a)
	LastK     []int     `json:"last_k"`    // last such interval
	TopoMin   []int     `json:"topo_min"`  // window after topological sorting only (Fig. 5b, light)
	TopoMax   []int     `json:"topo_max"`
	MinK      []int     `json:"min_k"` // window after Alg. 1 (Fig. 5b, dark)
	MaxK      []int     `json:"max_k"`
}
