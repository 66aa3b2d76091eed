package result

// Detail is detail.json: what figures and explanations need beyond the rows, so that both can be made again from a run
// directory without simulating it.
type Detail struct {
	Title string `json:"title"` // of the scenario, for people
	// Reference is the ideal fabric's simulation, Policies one entry for each row of the document, in its order.
	Reference Simulation   `json:"reference"`
	Policies  []Simulation `json:"policies"`
	Windows   Windows      `json:"windows"`
	// Omitted states, for people, which parts were sampled or left out because they are large.
	Omitted []string `json:"omitted,omitempty"`
}

// Simulation is one simulation of the workload: under a policy's decision, or on the ideal fabric.
type Simulation struct {
	Policy    string     `json:"policy"`
	Service   string     `json:"service"` // how rates were shared: "max-min", "level-priority" ...
	MakespanS float64    `json:"makespan_s"`
	Tracks    []Track    `json:"lanes"`    // execution trace by stage
	Demand    []Series   `json:"demand"`   // bandwidth leaving each pod over time, bits per second
	Rates     []Series   `json:"rates"`    // gradient synchronisation rates by stage over time, bits per second; Group is the link they share
	Circuits  []Series   `json:"circuits"` // rate carried by each circuit bundle and direction over time, bits per second
	Topology  *Topology  `json:"topology,omitempty"`
	Path      []PathStep `json:"path"` // critical path in order of time
	Torus     *Torus     `json:"lattice,omitempty"`
	Graph     *Graph     `json:"graph,omitempty"`
	Delay     *Delay     `json:"delay,omitempty"` // of packets
	// DelayShared is that at one load for all policies, the largest at which the links of each are not overloaded, and
	// LoadShare what that is of the load at which Delay is; nil and 0 where all loads are the same or not simulated.
	DelayShared *Delay    `json:"delay_shared,omitempty"`
	LoadShare   float64   `json:"load_share,omitempty"`
	Schedule    *Schedule `json:"schedule,omitempty"`
	Traffic     *Traffic  `json:"traffic,omitempty"` // on links
	Fleet       *Fleet    `json:"fleet,omitempty"`
	// Jobs are, of several jobs, each one's part: Policy is the job's name, Topology its own circuits, a pod's ports
	// being its own and those that no job uses.
	Jobs []Simulation `json:"jobs,omitempty"`
	// Timeline is of work on links, where that is asked for.
	Timeline *Timeline `json:"-"`
	// Nodes are its tracks, and Links the rates of the links that carry most, where it is short.
	Nodes []Track  `json:"nodes,omitempty"`
	Links []Series `json:"links,omitempty"`
	// Moves are the changes of circuits in an iteration, whose Topology is that of its beginning, and UnchangedS is how
	// long it takes without them.
	Moves      []Move  `json:"moves,omitempty"`
	UnchangedS float64 `json:"unchanged_s,omitempty"`
}

// Move is a change of circuits in an iteration.
type Move struct {
	Event    string      `json:"when"` // what has ended then
	AtS      float64     `json:"at_s"`
	UpS      float64     `json:"up_s"` // when what is set up carries
	Circuits []PairMoves `json:"circuits"`
}

// PairMoves is how the circuits of a pair of pods change.
type PairMoves struct {
	A    int  `json:"a"`
	B    int  `json:"b"`
	DP   bool `json:"dp,omitempty"`
	From int  `json:"from"`
	To   int  `json:"to"`
}

// Track is a row of an execution trace: a pipeline stage.
type Track struct {
	Name  string `json:"name"`  // "stage 3"
	Group string `json:"group"` // "pod 1"
	Spans []Span `json:"spans"` // ordered by start
}

// Span is a task on a lane.
type Span struct {
	Kind   string  `json:"kind"`  // "forward", "backward", "pp-forward", "pp-backward", "dp"
	Label  string  `json:"label"` // short: the micro-batch number, counted from 1
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	Bytes  int64   `json:"bytes,omitempty"` // of a transfer
	// Critical tells that it is on the critical path.
	Critical bool `json:"critical,omitempty"`
}

// Series is a step function of time: Value[i] holds from TimeS[i] to TimeS[i+1]; the last value is 0.
type Series struct {
	Name  string    `json:"name"`
	Group string    `json:"group,omitempty"`
	TimeS []float64 `json:"time_s"`
	Value []float64 `json:"value"`
}

// Topology is a logical topology: circuits between pods.
type Topology struct {
	Pods  []PodPorts `json:"pods"`
	Pairs []Pair     `json:"pairs"`
}

// PodPorts is a pod of a Topology.
type PodPorts struct {
	Name    string `json:"name"`    // "pod 0"
	Replica int    `json:"replica"` // which replica it serves
	Used    int    `json:"used"`
	Total   int    `json:"total"`
	// Even is a job's even share of the ports, of several jobs in a pod.
	Even int `json:"even,omitempty"`
}

// Pair is a bundle of circuits. In a topology reduced to one replica a bundle to the DP peers in neighbouring replicas
// has A == B and DP set.
type Pair struct {
	A        int  `json:"a"` // index into Pods
	B        int  `json:"b"`
	Circuits int  `json:"circuits"`
	DP       bool `json:"twin,omitempty"` // to the same pod of each neighbouring replica
	Copies   int  `json:"copies"`         // how many such bundles pod A has to DP peers: 1, or 2 on a ring of more than two replicas
}

// PathStep is a step of the critical path. LagS is rigid work inside pods before it; the three loss terms split what it
// took beyond its ideal time.
type PathStep struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // as Span.Kind, or "compute"
	StartS   float64 `json:"start_s"`
	EndS     float64 `json:"end_s"`
	LagS     float64 `json:"lag_s"`
	IdealS   float64 `json:"ideal_s"`   // at the full rate of its NICs
	CircuitS float64 `json:"circuit_s"` // lost to fewer circuits than flows
	SharingS float64 `json:"sharing_s"` // lost to others on the same circuits or NICs
	Link     string  `json:"link,omitempty"`
}

// Windows is what is known of the transfers before any topology is chosen (DELTA, Figs. 5 and 12): a row a transfer of
// the reduced DAG.
type Windows struct {
	Task      []string  `json:"task"`
	EarliestS []float64 `json:"earliest_s"` // earliest start (Alg. 4)
	LatestS   []float64 `json:"latest_s"`   // latest completion (Alg. 4)
	// Baseline is the policy whose circuits the transfers are simulated on: the best of those that see the traffic
	// matrix alone.
	Baseline  string    `json:"baseline,omitempty"`
	StartS    []float64 `json:"start_s"` // there
	EndS      []float64 `json:"end_s"`
	Intervals int       `json:"intervals"` // K: intervals between events of the baseline
	FirstK    []int     `json:"first_k"`   // 1-based active indices in the baseline (Fig. 5a)
	LastK     []int     `json:"last_k"`
	TopoMin   []int     `json:"topo_min"` // retained by topological sorting alone (Fig. 5b, light)
	TopoMax   []int     `json:"topo_max"`
	MinK      []int     `json:"min_k"` // retained by Alg. 1 (Fig. 5b, dark)
	MaxK      []int     `json:"max_k"`
}
