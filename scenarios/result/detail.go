// This file declares the content of detail.json: what figures and explanations of a run
// show, apart from the metrics.
//
// The JSON names are part of the file format and never change. In this file, four of them
// differ from the names of fields: Tracks are "lanes", Torus is "lattice", Move.Event is "when", and
// Pair.DP is "twin".
//
// Circuits join pods through optical switches. A bundle is the set of circuits between two
// pods. The DP peers of a pod are the pods that hold the same pipeline stage of other
// replicas (DP: data parallelism).

package result

// Detail is the content of detail.json. Figures and explanations can be made again from it
// without a simulation.
type Detail struct {
	Title string `json:"title"` // title of the scenario
	// Reference is the simulation on the ideal fabric, a network that limits only what each
	// endpoint sends and receives. Policies has one entry per row of the document, in the
	// same order.
	Reference Simulation `json:"reference"`
	// ReferenceNote states how the work of the reference differs from the work of the policies; ""
	// if it does not.
	ReferenceNote string       `json:"reference_note,omitempty"`
	Policies      []Simulation `json:"policies"`
	Windows       Windows      `json:"windows"`
	// Omitted lists, in words, the parts that were sampled or left out because of their size.
	Omitted []string `json:"omitted,omitempty"`
}

// Simulation is one simulation of the workload: under a policy's decision, or on the ideal fabric.
type Simulation struct {
	Policy    string   `json:"policy"`
	Service   string   `json:"service"` // rate sharing, such as "max-min" or "level-priority"
	MakespanS float64  `json:"makespan_s"`
	Tracks    []Track  `json:"lanes"`  // execution trace, one track per pipeline stage
	Demand    []Series `json:"demand"` // bandwidth leaving each pod over time, in bits per second
	// Rates are the rates of gradient synchronisation over time, in bits per second. There
	// is one series per stage and circuit bundle; Group names the bundle, whose circuits
	// the series of a group share.
	Rates    []Series   `json:"rates"`
	Circuits []Series   `json:"circuits"` // rate of each circuit bundle and direction over time, in bits per second
	Topology *Topology  `json:"topology,omitempty"`
	Path     []PathStep `json:"path"`              // critical path, in order of time
	Torus    *Torus     `json:"lattice,omitempty"` // links of a torus and their loads
	Graph    *Graph     `json:"graph,omitempty"`   // links of any other network and their loads
	Delay    *Delay     `json:"delay,omitempty"`   // delays of packets
	// DelayShared is the delay at a load that is the same for all policies: the maximum load
	// at which no policy overloads a link. LoadShare is that load divided by the load at
	// which Delay was measured. They are nil and 0 if Delay already has the same load for
	// all policies, or if no packets were simulated.
	DelayShared *Delay    `json:"delay_shared,omitempty"`
	Messages    *Delay    `json:"messages,omitempty"` // completion times of messages under a transport
	LoadShare   float64   `json:"load_share,omitempty"`
	Schedule    *Schedule `json:"schedule,omitempty"` // collective on a scale-up domain
	Traffic     *Traffic  `json:"traffic,omitempty"`  // which traffic loads the links
	Fleet       *Fleet    `json:"fleet,omitempty"`    // figures of a fleet of pods over months
	// Jobs has one entry per job if the scenario has several. In an entry, Policy is the
	// name of the job, and Topology contains only its circuits. The total ports of a pod
	// are then the ports that the job uses and the ports that no job uses.
	Jobs []Simulation `json:"jobs,omitempty"`
	// Timeline is the activity on links; nil unless requested.
	Timeline *Timeline `json:"-"`
	// Nodes are the tracks of the timeline, and Links the rates of the most loaded links.
	// Only short timelines have them.
	Nodes []Track  `json:"nodes,omitempty"`
	Links []Series `json:"links,omitempty"`
	// Moves are the changes of circuits during an iteration, in order of time. Topology has
	// the circuits at the start of the iteration. UnchangedS is the iteration time without
	// moves.
	Moves      []Move  `json:"moves,omitempty"`
	UnchangedS float64 `json:"unchanged_s,omitempty"`
	// Perturbation states how far the simulation is from an exact one; nil if it is exact.
	Perturbation *Perturbation `json:"perturbation,omitempty"`
}

// Perturbation describes a simulation at level flow in which rates are computed at least
// ToleranceS apart. It is exact for transfers that start up to DelayS later, and hold their rate
// for up to Bytes after their end. Load is the largest share of these bytes in the load of a link.
type Perturbation struct {
	ToleranceS float64 `json:"tolerance_s"`
	DelayS     float64 `json:"delay_s"`
	Bytes      float64 `json:"bytes"`
	Load       float64 `json:"load"`
}

// Move is a change of circuits in an iteration.
type Move struct {
	Event    string      `json:"when"` // event that triggers the change, such as the end of a transfer
	AtS      float64     `json:"at_s"` // time at which the circuits that move stop carrying traffic
	UpS      float64     `json:"up_s"` // time at which the new circuits carry traffic
	Circuits []PairMoves `json:"circuits"`
}

// PairMoves is the change of one bundle of circuits, from From to To circuits. A, B and DP
// identify the bundle as in Pair.
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
	Pairs []Pair     `json:"pairs"` // one entry per bundle
}

// PodPorts is a pod of a Topology, with the number of its optical ports.
type PodPorts struct {
	Name    string `json:"name"`    // "pod 0"
	Replica int    `json:"replica"` // index of the replica
	Used    int    `json:"used"`    // ports with a circuit
	Total   int    `json:"total"`
	// Even is set in the topology of one of several jobs. It is the number of ports that
	// the job would have if the jobs of the pod divided its ports evenly.
	Even int `json:"even,omitempty"`
}

// Pair is a bundle of circuits between pods A and B.
//
// A topology may show one replica for all. Its bundles to the DP peers in neighbouring
// replicas then have no pod B of their own: they have DP set, and B equals A.
type Pair struct {
	A        int  `json:"a"` // index into Topology.Pods
	B        int  `json:"b"` // index into Topology.Pods
	Circuits int  `json:"circuits"`
	DP       bool `json:"twin,omitempty"` // leads to the DP peers of pod A in neighbouring replicas
	// Copies is the number of equal bundles of pod A that the entry stands for. It is 2 for
	// a bundle to DP peers on a ring of more than two replicas, where a replica has two
	// neighbours, and otherwise 1.
	Copies int `json:"copies"`
}

// PathStep is a step of the critical path: a transfer between pods, or the computes after
// the last transfer. The duration of a transfer is IdealS + CircuitS + SharingS.
type PathStep struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // like Span.Kind, or "compute"
	StartS   float64 `json:"start_s"`
	EndS     float64 `json:"end_s"`
	LagS     float64 `json:"lag_s"`          // computes and other fixed delays between the preceding step and this one
	IdealS   float64 `json:"ideal_s"`        // duration at the full rate of the NICs
	CircuitS float64 `json:"circuit_s"`      // additional time because the bundle has fewer circuits than the transfer has flows
	SharingS float64 `json:"sharing_s"`      // additional time because other transfers share its circuits or NICs
	Link     string  `json:"link,omitempty"` // circuit bundle of the transfer
}

// Windows are the times in which transfers can be active, before a topology is chosen
// (package topology, type Windows). Numbers of algorithms and figures refer to "DELTA: A
// DAG-aware Efficient OCS Logical Topology Optimization Framework for AIDCs".
//
// The slices are indexed by transfer between pods: computes and communication inside pods
// are contracted into delays between these transfers (the paper's reduced DAG).
//
// Besides times, windows are given in intervals, as in the paper's optimisation model. The
// starts and ends of transfers divide an iteration into intervals, which are numbered from
// 1. A transfer is active in consecutive intervals.
type Windows struct {
	Task      []string  `json:"task"`       // names of the transfers
	EarliestS []float64 `json:"earliest_s"` // earliest start (Alg. 4)
	LatestS   []float64 `json:"latest_s"`   // latest completion (Alg. 4)
	// Baseline is the policy whose circuits are used to simulate StartS and EndS: the
	// best policy that uses only the traffic matrix.
	Baseline  string    `json:"baseline,omitempty"`
	StartS    []float64 `json:"start_s"`   // start on the baseline's circuits
	EndS      []float64 `json:"end_s"`     // end on the baseline's circuits
	Intervals int       `json:"intervals"` // number of intervals of the model, K in the paper
	FirstK    []int     `json:"first_k"`   // first interval in which the transfer is active in the baseline (Fig. 5a)
	LastK     []int     `json:"last_k"`    // last interval in which the transfer is active in the baseline
	// TopoMin..TopoMax are the intervals in which the transfer can be active because of the
	// order of dependent transfers alone (Fig. 5b, light).
	TopoMin []int `json:"topo_min"`
	TopoMax []int `json:"topo_max"`
	// MinK..MaxK are the intervals that remain after Alg. 1, which excludes intervals far
	// from the baseline (Fig. 5b, dark).
	MinK []int `json:"min_k"`
	MaxK []int `json:"max_k"`
}
