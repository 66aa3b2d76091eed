package machine

import (
	"sim/engine"
	"sim/engine/units"
)

// Libraries of collective calls.
const (
	NCCL = "nccl"
	RCCL = "rccl"
)

// Collectives holds the costs of collective calls in addition to the time of their bytes on the
// links. Latencies of the library's algorithms are in package policies/collective.
//
// The fill times describe pipelines: with chunks of the best size, data that a link sends in time
// t take 2 sqrt(fill t) longer, because the pipeline fills and each chunk has a cost.
type Collectives struct {
	Library string `key:"library" doc:"library of collective calls, whose latencies apply; '' means unknown" default:"" choices:"nccl|rccl" unset:""`

	Launch        engine.Time `key:"launch" doc:"time of a call in addition to the latencies of the library" default:"0s" min:"0"`
	MessageLaunch engine.Time `key:"message_launch" doc:"time of an all-to-all or send-receive, in addition to launch" default:"0s" min:"0"`
	HopFactor     float64     `key:"hop_factor" doc:"time of a hop inside a node with protocol LL, relative to the library's constant" default:"1" above:"0" max:"100"`

	RingFill    engine.Time `key:"ring_fill" doc:"fill time of the pipeline of a ring inside a node, per hop" default:"0s" min:"0"`
	SwitchFill  engine.Time `key:"switch_fill" doc:"fill time of reductions in the switch of a node" default:"0s" min:"0"`
	DirectFill  engine.Time `key:"direct_fill" doc:"fill time of messages inside a node" default:"0s" min:"0"`
	NetworkFill engine.Time `key:"network_fill" doc:"fill time of pipelines between nodes" default:"0s" min:"0"`

	LLRate              units.Rate  `key:"ll_rate" doc:"maximum rate of protocol LL inside a node" default:"141GB/s" above:"0" max:"1e16"`
	LL128Efficiency     float64     `key:"ll128_efficiency" doc:"rate of protocol LL128 inside a node, relative to large transfers" default:"0.6" above:"0" max:"1"`
	NetworkLLShare      float64     `key:"network_ll_share" doc:"share of the interfaces' rate that protocol LL reaches between nodes" default:"0.028" above:"0" max:"1"`
	NetworkLL128Share   float64     `key:"network_ll128_share" doc:"share of the interfaces' rate that protocol LL128 reaches between nodes; 0 means that LL128 is not used between nodes" default:"0.356" min:"0" max:"1"`
	NetworkLL128Latency engine.Time `key:"network_ll128_latency" doc:"time of a call between nodes with protocol LL128, in addition to the latencies of the library" default:"22us" min:"0"`
}

// CheckCollectives returns an error if the costs of collective calls are unknown.
func (p *Profile) CheckCollectives() error {
	if p.Collectives.Library == "" {
		return p.Missing("collectives.library", "collective calls of several sizes")
	}
	return nil
}

// SwitchesReduce reports whether the switches of nodes add the data of GPUs.
func (p *Profile) SwitchesReduce() bool { return p != nil && p.ScaleUp.Reduction > 0 }

// WithNodes returns the profile with other nodes: their number of GPUs, the rate that transfers of a
// GPU reach to the others of its node, and the rate of its share of the network interfaces, in each
// direction. Efficiencies stay.
func (p *Profile) WithNodes(gpus int, host, nic units.Rate) *Profile {
	q := *p
	q.GPUsPerNode = gpus
	q.ScaleUp.Rate = units.Rate(float64(host) / p.ScaleUp.Efficiency)
	q.ScaleOut.Rate = units.Rate(float64(nic) / p.ScaleOut.Efficiency * float64(gpus) / float64(p.ScaleOut.NICs))
	return &q
}
