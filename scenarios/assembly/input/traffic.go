// This file holds the keys of traffic, and of the level of its simulation.
//
// The tags of fields are defined in package schema (schema/doc.go). For example, "else" describes
// a computed default, and "implicit" omits a key with its default from resolved scenarios. The
// names of conditions of use are defined in scenarios/tag_names.go: for example, "waiting" holds
// if messages wait for each other, and "workload(turns)" if the kind of the workload uses the
// group of keys "turns" (paths.Kind.Groups).
//
// Structs of one or a few fields hold keys that some kinds of scenarios accept without the rest
// of Traffic, such as traffic among the GPUs of pods.

package input

import (
	"math"

	"sim/engine"
	"sim/engine/units"
	"sim/workloads/collective"
)

// Engine holds the level of detail of a simulation and its options.
type Engine struct {
	Level       string      `key:"level" doc:"level of the simulation: 'flow', fluid rates; 'packet', packets and queues, up to 100 billion packet hops; 'static', paths and loads only" else:"flow; packet if workload.source is given, and for uniform-random and data-tensor traffic" choices:"flow|packet|static"`
	Until       engine.Time `key:"until" doc:"time at which the simulation ends, with packets in flight; '0s' means until all packets are delivered" default:"0s" when:"engine.level=packet"`
	SampleEvery engine.Time `key:"sample_every" doc:"sampling interval of queue lengths for queues.csv; '0s' means none" default:"0s" when:"engine.level=packet"`
	// MessageOverhead is engine.Graph.MessageOverhead, for transfers with dependencies.
	MessageOverhead engine.Time `key:"message_overhead" doc:"time for a sender to start a message, one message at a time; for collective calls, training steps and traces" default:"0s" when:"engine.level=flow|packet & waiting"`
	// Tolerance is flow.Options.Tolerance.
	Tolerance engine.Time `key:"tolerance" doc:"minimum time between two computations of rates; starts and ends of transfers in between are bundled, and the result states by how much; '0s' means exact; for traces and matrices" default:"0s" implicit:"" when:"engine.level=flow & staggered"`
}

// Traffic is a workload of messages between the nodes of a fabric. The kind of the
// workload and Source determine which fields are used.
//
// Listed sizes are at most 2^50 bytes (1125899906842624), so that their products with small
// numbers fit an int64, as in trace.MaxMessageBytes. Rates are at most 1e16 bits per second, like
// the link rates of all fabrics.
type Traffic struct {
	TrafficMessage
	TrafficPacket
	Payload units.Bytes `key:"payload" doc:"part of a packet that counts for sizes and rates" else:"packet" when:"engine.level=packet & not-called"`
	Source  string      `key:"source" doc:"injection of packets: 'paced', at the rate that just fills the most loaded link; 'greedy', as fast as the first links accept them; 'window', with a limited number per flow in flight; 'on-off', every flow at a rate for a time; 'poisson', every node at random times; 'transport', messages as [transport] says" else:"transport with a [transport]; otherwise paced; for data-tensor traffic on-off; for uniform-random traffic poisson" choices:"paced|greedy|window|on-off|poisson|transport" when:"not-called"`
	Rate    units.Rate  `key:"rate" doc:"payload rate of each flow while it is on" required:"" above:"0" max:"1e16" when:"source(on-off)"`
	Start   engine.Time `key:"start" doc:"start time of flows; the first packet is sent one interval later" default:"1s" when:"engine.level=packet & source(on-off)"`
	TrafficPoisson
	Pace        float64 `key:"pace" doc:"rate of the flows as a fraction of the rate that fills the most loaded link" default:"1.0" above:"0" max:"1000" when:"engine.level=packet & source(paced)"`
	Window      int     `key:"window" doc:"maximum number of packets per flow in flight" default:"8" min:"1" max:"1048576" when:"engine.level=packet & source(window)"`
	Injection   string  `key:"injection" doc:"order in which a node injects packets of its flows: one of each in turn, of a random flow, or flow after flow" default:"round-robin" choices:"round-robin|random|sequential" when:"engine.level=packet & source(greedy|paced)"`
	Permutation string  `key:"permutation" doc:"destination of each node: 'random'; 'transpose', coordinates in reverse order; 'bit-complement', the opposite end of each dimension; 'bit-reverse' and 'shuffle' of the bits of its number; 'tornado', just less than half-way around each dimension" default:"random" choices:"@permutations" when:"workload(permutation)"`
	TrafficMatrix
	RingForm      string      `key:"ring_form" doc:"form of rings along a dimension: 'links' follows the links of the dimension, and if the torus is twisted, one ring has the nodes of several lines; 'line' takes the nodes of one line in order; 'folded' takes the even nodes of one line upwards, then its odd nodes downwards" default:"links" choices:"links|line|folded" when:"workload(turns)"`
	Bidirectional bool        `key:"bidirectional" doc:"whether nodes send in both directions around rings" default:"false" when:"workload(turns)"`
	TensorDims    []string    `key:"tensor_dims" doc:"dimensions of the slices with all-to-all traffic" default:"x,y" choices:"x|y|z" when:"workload(turns)"`
	DataDims      []string    `key:"data_dims" doc:"dimensions of the rings, along which every node sends to the next" default:"z" choices:"x|y|z" when:"workload(turns)"`
	Alternations  int         `key:"alternations" doc:"number of alternations between slices and rings" default:"3" min:"1" max:"1000" when:"engine.level=packet & workload(turns)"`
	Phase         engine.Time `key:"phase" doc:"duration of a phase" default:"100ms" when:"engine.level=packet & workload(turns)"`
	RingRate      units.Rate  `key:"ring_rate" doc:"payload rate of each flow along the rings" else:"rate" above:"0" max:"1e16" when:"workload(turns)"`
	TrafficStep
}

// TrafficPoisson holds the duration of sources, and the load and warm-up of Poisson
// sources.
type TrafficPoisson struct {
	Duration engine.Time `key:"duration" doc:"time for which flows are on; for Poisson sources, the measured time after the warm-up" else:"100ms; for Poisson sources the time of 4,000 packets on a link" when:"engine.level=packet & source(on-off|poisson) & not-phased"`
	Load     float64     `key:"load" doc:"injection rate of each node as a fraction of a link's rate" default:"0.1" above:"0" max:"1000" when:"engine.level=packet & source(poisson)"`
	Warmup   engine.Time `key:"warmup" doc:"time before which injected packets are not measured" else:"the time of 1,000 packets on a link" when:"engine.level=packet & source(poisson)"`
}

// TrafficMessage holds the size of messages.
type TrafficMessage struct {
	Message units.Bytes `key:"message" doc:"size of a message; a flow of an on-off source ends after it" else:"64KB; for on-off sources 0B, without end" when:"sizeable"`
}

// TrafficMatrix holds a listed traffic matrix, as a square matrix or as a sparse list of
// rows. A field named _ is a key that is checked but not stored; other code reads it.
type TrafficMatrix struct {
	_      string  `key:"matrix_file" doc:"CSV file instead of matrix: one row of bytes per source node, or the header from,to,bytes and one line per nonzero pair" when:"workload(matrix)"`
	Matrix [][]int `key:"matrix" doc:"bytes from each node to each node, one row per source" max:"1125899906842624" when:"workload(matrix)"`
	Sends  [][]int `key:"sparse_matrix" doc:"instead of matrix: one row per sending node with its number and, for each destination, number and bytes" default:"" implicit:"" empty:"" max:"1125899906842624" when:"workload(matrix)"`
	_      string  `key:"sizes" doc:"message sizes: 'uniform'; 'matrix' or the name of a CSV file are equivalent to kind = \"matrix\" with matrix or matrix_file" when:"workload(sizes)"`
}

// TrafficPacket holds the packet size of any workload.
type TrafficPacket struct {
	Packet units.Bytes `key:"packet" doc:"size of a packet on the wire" default:"1KB" when:"engine.level=packet"`
}

// TrafficStep holds the training step that contains a collective.
type TrafficStep struct {
	Step Step `table:"step" doc:"A training step of which the collective is a part: what faults do to it." when:"workload(step) & on-links"`
}

// Step describes a training step that contains a collective. It serves to compute by how
// much a fault lengthens the step.
type Step struct {
	Share    float64 `key:"share" doc:"share of the collective in the step time without faults; 0 means no step" default:"0.0" max:"1"`
	Overlap  float64 `key:"overlap" doc:"share of the collective that overlaps with compute" default:"0.0" max:"1"`
	Slowdown float64 `key:"slowdown" doc:"measured slowdown of a step by the fault, from which the metric implied_share is computed: the exposed share of the collective in the step time that explains it; 0.03 is 3 %; 0 means none" default:"0.0" max:"1000"`
}

// Entries returns the messages of Matrix and Sends. The reader of the keys has checked
// all rows.
func (m *TrafficMatrix) Entries() (entries []collective.Entry) {
	for src, row := range m.Matrix {
		for dst, b := range row {
			if b != 0 {
				entries = append(entries, collective.Entry{Src: int32(src), Dst: int32(dst), Bytes: int64(b)})
			}
		}
	}
	for _, row := range m.Sends {
		for k := 1; k+1 < len(row); k += 2 {
			entries = append(entries, collective.Entry{Src: int32(row[0]), Dst: int32(row[k]), Bytes: int64(row[k+1])})
		}
	}
	return entries
}

// SetEntries stores entries as rows of Sends. Entries of one source must follow each
// other.
func (m *TrafficMatrix) SetEntries(entries []collective.Entry) {
	m.Matrix, m.Sends = nil, nil
	for _, e := range entries {
		if last := len(m.Sends) - 1; last < 0 || m.Sends[last][0] != int(e.Src) {
			m.Sends = append(m.Sends, []int{int(e.Src)})
		}
		last := len(m.Sends) - 1
		m.Sends[last] = append(m.Sends[last], int(e.Dst), int(e.Bytes))
	}
}

// MinEndpoints returns the minimum number of nodes for the matrix: the number of its
// rows, or the largest node number plus one.
func (m *TrafficMatrix) MinEndpoints() int {
	n := len(m.Matrix)
	for _, e := range m.Entries() {
		n = max(n, int(e.Src)+1, int(e.Dst)+1)
	}
	return n
}

// LastPacketBytes returns the size on the wire of the last packet of a message with the
// given number of bytes. It has the same header as every packet, and the rest of the
// message as payload.
func (w *Traffic) LastPacketBytes(message int64) int32 {
	payload := int64(w.Payload)
	return int32(int64(w.Packet) - payload + (message-1)%payload + 1)
}

// WireBytes returns the bytes on the wire of a message with the given number of bytes,
// including the headers of its packets.
func (w *Traffic) WireBytes(message float64) float64 {
	return message + math.Ceil(message/float64(w.Payload))*float64(w.Packet-w.Payload)
}
