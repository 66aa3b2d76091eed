// This file holds the keys of scale-up domains and of the all-to-alls on them.

package input

import (
	"sim/engine"
	"sim/engine/units"
)

// ScaleUp is a fabric of kind "scaleup": GPUs joined by optical switches. Each switch has
// a link to and from every GPU.
type ScaleUp struct {
	GPUs           int         `key:"gpus" doc:"number of GPUs in the domain; for a training step, of a stage" else:"8; of a matrix its rows; of a training step the GPUs that its experts are spread over" min:"2" max:"4096"`
	Switches       int         `key:"switches" doc:"number of optical switches, and of links from and to each GPU; fewer than GPUs" default:"1" min:"1" max:"4095"`
	LinkRate       units.Rate  `key:"link_rate" doc:"rate of a link in each direction" default:"800Gbps" above:"0" max:"1e16"`
	LinkLatency    engine.Time `key:"link_latency" doc:"propagation delay per hop" default:"500ns"`
	Delay          engine.Time `key:"reconfiguration_delay" doc:"time for which links are down while switches reconfigure; it also precedes the first topology" default:"1ms"`
	Reconfigure    string      `key:"reconfiguration_mode" doc:"whether all switches reconfigure together, or one at a time while others carry traffic, if the planner supports it" default:"together" choices:"together|independent" when:"workload(exchange)"`
	KnownInAdvance string      `key:"predicted_calls" doc:"all-to-alls of a training step for which switches reconfigure during the preceding compute: 'none'; 'returns', the returns and those of backward passes, whose sizes are known; or 'all', as with predicted routing" default:"none" choices:"none|returns|all" implicit:"" when:"workload(step-exchange)"`
	Topology       string      // fixed topology on which routers choose paths; "" if planners make plans
	NICRate        units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's link to other domains in each direction, over a non-blocking fabric" default:"400Gbps" above:"0" max:"1e16" when:"workload(step-exchange)"`
}

// ReconfiguresInAdvance reports whether switches reconfigure for some all-to-alls before
// they start.
func (f *ScaleUp) ReconfiguresInAdvance() bool {
	return f.KnownInAdvance == "returns" || f.KnownInAdvance == "all"
}

// Exchange is an all-to-all on a scale-up domain.
type Exchange struct {
	MeanMessage
	Messages
}

// MeanMessage holds the mean size of messages that are not listed.
type MeanMessage struct {
	Message units.Bytes `key:"message" doc:"mean message size of an ordered pair" default:"32MB" when:"sizes=uniform|random|zipf"`
}

// ListedSizes is the value of Messages.Sizes if Matrix lists the sizes.
const ListedSizes = "matrix"

// Messages holds the message sizes between all pairs of GPUs. Several tables contain its
// keys.
type Messages struct {
	Sizes    string      `key:"sizes" doc:"message sizes: 'uniform'; 'random', uniform from zero to twice the mean; 'zipf', by randomly assigned rank; 'matrix', as listed; or the name of a CSV file with one row of sizes per GPU" default:"uniform"`
	Matrix   [][]int     `key:"matrix" doc:"bytes from each GPU to each GPU, one row per source" max:"1125899906842624" when:"sizes=matrix"`
	Exponent float64     `key:"zipf_exponent" doc:"exponent of the sizes by rank" default:"0.4" max:"10" when:"sizes=zipf"`
	Chunk    units.Bytes `key:"chunk" doc:"chunk size of messages; the last chunk of a message takes a full slot" default:"4MB"`
}
