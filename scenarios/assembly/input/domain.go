package input

import (
	"sim/engine"
	"sim/engine/units"
)

// ScaleUp is a fabric of kind "scaleup": GPUs joined by optical switches, each of which has a link to and from every
// GPU.
type ScaleUp struct {
	GPUs        int         `key:"gpus" doc:"GPUs of the domain; of a training step those of a stage" else:"8; of a matrix its rows; of a training step the GPUs that its experts are spread over" min:"2" max:"4096"`
	Switches    int         `key:"switches" doc:"optical switches, so links out of and into each GPU; fewer than GPUs" default:"1" min:"1" max:"4095"`
	LinkRate    units.Rate  `key:"link_rate" doc:"rate of a link, in each direction" default:"800Gbps" above:"0" max:"1e16"`
	LinkLatency engine.Time `key:"link_latency" doc:"time that a bit takes over a hop" default:"500ns"`
	Delay       engine.Time `key:"reconfiguration_delay" doc:"time that links are down when switches reconfigure; the first topology counts" default:"1ms"`
	Reconfigure string      `key:"reconfigure" doc:"whether all switches reconfigure together, or each may while the others carry traffic, where the planner makes use of it" default:"together" choices:"together|independent" when:"workload(exchange)"`
	KnownAhead  string      `key:"known_ahead" doc:"which all-to-alls of a training step are known while what comes before them computes, so that switches reconfigure for them meanwhile: 'none'; 'returns', the way back and those of backward passes, which send what the way there did; or 'all', as where routing is predicted" default:"none" choices:"none|returns|all" implicit:"" when:"workload(step-exchange)"`
	Topology    string      // that switches keep, which paths are chosen over; "" where plans are made
	NICRate     units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's link to other domains, in each direction, over a fabric that does not block" default:"400Gbps" above:"0" max:"1e16" when:"workload(step-exchange)"`
}

// KnowsAhead reports whether switches reconfigure for some all-to-alls before these begin.
func (f *ScaleUp) KnowsAhead() bool { return f.KnownAhead == "returns" || f.KnownAhead == "all" }

// Exchange is an all-to-all on a scale-up domain.
type Exchange struct {
	MeanMessage
	Messages
}

// MeanMessage is the size of messages where not all are listed.
type MeanMessage struct {
	Message units.Bytes `key:"message" doc:"mean size of the message of an ordered pair" default:"32MB" when:"sizes=uniform|random|zipf"`
}

// ListedSizes is what Messages.Sizes is if Matrix lists the sizes.
const ListedSizes = "matrix"

// Messages is who sends how much to whom, wherever its keys stand.
type Messages struct {
	Sizes    string      `key:"sizes" doc:"sizes of the messages: 'uniform'; 'random', evenly from nothing to twice the mean; 'zipf', by rank, ranks drawn; 'matrix', as listed; or the name of a CSV file with a row of sizes for each GPU" default:"uniform"`
	Matrix   [][]int     `key:"matrix" doc:"sizes in bytes, a row for each GPU that sends" max:"1125899906842624" when:"sizes=matrix"`
	Exponent float64     `key:"zipf_exponent" doc:"how fast sizes fall by rank" default:"0.4" max:"10" when:"sizes=zipf"`
	Chunk    units.Bytes `key:"chunk" doc:"size of the pieces in which messages are sent, the last perhaps smaller but taking as long" default:"4MB"`
}
