package packet

// This file defines transports: how hosts control and repeat packets, and how links treat packets
// that do not fit. RunGraph uses one if Options.Transport is set. The parts are:
//
//   - transport_link.go, transport_buffer.go: queues, marks, trimming, pauses
//   - transport_flow.go: senders of messages
//   - transport_feedback.go: receivers, acknowledgements, loss recovery
//   - transport_route.go: choice of the next link
//   - law_*.go: the laws by which senders set their windows and rates

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Transport holds the keys of the transport of messages. Numbers that are 0 have defaults that
// depend on the kind, the rate of links, and the round-trip time; see transportState.
type Transport struct {
	Kind      string      `key:"kind" doc:"what hosts do: 'none', packets that are lost are never sent again; 'window', a constant window; 'dctcp', a window that follows marks (RFC 8257); 'dcqcn', a rate that follows marks (Zhu et al. 2015); 'nscc', the sender of Ultra Ethernet, which follows marks and delays; 'rccc', credits of receivers (Ultra Ethernet, EQDS); 'hpcc', telemetry of links (Li et al. 2019)" default:"none" implicit:"" choices:"none|window|dctcp|dcqcn|nscc|rccc|hpcc"`
	Header    units.Bytes `key:"header" doc:"part of a packet that is not data" default:"64B" max:"65536" when:"transported"`
	Recovery  string      `key:"recovery" doc:"what is sent again after a loss: the lost packets ('selective'), or all packets from the lost one on ('go-back-n'); 'auto' means go-back-n for window, dcqcn and hpcc on one path for each message, and else selective" default:"auto" choices:"auto|selective|go-back-n" when:"transported"`
	Acks      string      `key:"acks" doc:"how acknowledgements return: after the time of an empty path ('express'), or as packets that wait in queues, in a class that is served first ('carried')" default:"express" choices:"express|carried" when:"transported"`
	AckBytes  units.Bytes `key:"ack_bytes" doc:"size of an acknowledgement or of a trimmed packet" default:"64B" min:"1" max:"65536" when:"transported"`
	Window    units.Bytes `key:"window" doc:"window of the kinds window and dcqcn, and first window of the others; 0B means the bandwidth-delay product for window, no limit for dcqcn, 10 packets for dctcp, and 1.5 bandwidth-delay products for nscc and rccc" default:"0B" when:"transported"`
	RTOMin    engine.Time `key:"min_timeout" doc:"minimum time without progress after which packets are sent again; 0s means 1 ms, for nscc and rccc 100 us, and 10 ms if switches pause" default:"0s" when:"transported"`
	Balance   string      `key:"balance" doc:"choice among paths of equal length, if the router offers a choice for each packet: 'flow', one path for each message; 'spray', any for each packet; 'reps', again those whose acknowledgements were not marked (Bonato et al. 2024); 'adaptive', at each node the shortest queue" default:"spray" choices:"flow|spray|reps|adaptive" when:"transported"`
	Entropies int         `key:"entropies" doc:"number of values by which a sender selects paths, for balance spray and reps" default:"64" min:"1" max:"65536" when:"transported & balance=spray|reps"`

	Overflow     string      `key:"overflow" doc:"what a switch does with a full queue (fabric.queue): it drops packets, cuts them to their header and sends that first ('trim'), or pauses the sending node ('pause', priority flow control)" default:"drop" choices:"drop|trim|pause" when:"transported"`
	MarkMin      units.Bytes `key:"mark_min" doc:"queue length above which packets are marked; 0B means 1/7 of the bandwidth-delay product and at least 15 packets for dctcp, 0.2 of the product for nscc and rccc, 100 KB for each 25 Gb/s for dcqcn, and no marks for others" default:"0B" when:"kind=dctcp|dcqcn|nscc|rccc"`
	MarkMax      units.Bytes `key:"mark_max" doc:"queue length from which all packets are marked; 0B means mark_min for dctcp, 0.8 of the bandwidth-delay product for nscc and rccc, and four times mark_min for dcqcn" default:"0B" when:"kind=dctcp|dcqcn|nscc|rccc"`
	MarkShare    float64     `key:"mark_share" doc:"share of packets that are marked just below mark_max" default:"0.2" above:"0" max:"1" when:"kind=dctcp|dcqcn|nscc|rccc"`
	PauseAt      units.Bytes `key:"pause_at" doc:"bytes from one link in a switch at which the link is paused; 0B means 80 packets" default:"0B" when:"overflow=pause"`
	ResumeAt     units.Bytes `key:"resume_at" doc:"bytes at which it resumes; 0B means 3/4 of pause_at" default:"0B" when:"overflow=pause"`
	Headroom     units.Bytes `key:"headroom" doc:"buffer for bytes that arrive after the pause is sent, per link; 0B means twice the bytes in flight on the link, two packets and 3840 B" default:"0B" when:"overflow=pause"`
	SharedBuffer units.Bytes `key:"shared_buffer" doc:"buffer that the links of a switch share; a link may then use buffer_share of what is free, instead of pause_at or fabric.queue; 0B means that links do not share" default:"0B" when:"transported"`
	BufferShare  float64     `key:"buffer_share" doc:"alpha of the dynamic threshold (Choudhury and Hahne 1998)" default:"0.125" above:"0" max:"64" when:"transported & shared-buffer"`

	DCTCP DCTCP `table:"dctcp" doc:"The law of dctcp." when:"kind=dctcp"`
	DCQCN DCQCN `table:"dcqcn" doc:"The law of dcqcn. The defaults are those of the ns-3 model of HPCC." when:"kind=dcqcn"`
	NSCC  NSCC  `table:"nscc" doc:"The law of nscc." when:"kind=nscc"`
	RCCC  RCCC  `table:"rccc" doc:"The law of rccc." when:"kind=rccc"`
	HPCC  HPCC  `table:"hpcc" doc:"The law of hpcc." when:"kind=hpcc"`
}

// NoTransport is the value of Transport.Kind for packets that hosts do not control.
const NoTransport = "none"

// IsUsed reports whether hosts control their packets.
func (t *Transport) IsUsed() bool { return t != nil && t.Kind != "" && t.Kind != NoTransport }

// law is a kind of transport.
type law uint8

const (
	windowLaw law = iota
	dctcpLaw
	dcqcnLaw
	nsccLaw
	rcccLaw
	hpccLaw
)

var lawNames = []string{"window", "dctcp", "dcqcn", "nscc", "rccc", "hpcc"}

// balance is a value of Transport.Balance.
type balance uint8

const (
	flowBalance balance = iota
	sprayBalance
	repsBalance
	adaptiveBalance
)

var balanceNames = []string{"flow", "spray", "reps", "adaptive"}

// maxTransportPacket limits the size of packets under a transport: transportPacket.size has 20
// bits for it.
const maxTransportPacket = 1<<20 - 1

// checkTransport returns an error if the transport does not fit the work and the options.
func checkTransport(n *engine.Network, w *Work, hasGraph bool, packetBytes int32, o *Options) error {
	t := o.Transport
	if !t.IsUsed() {
		return nil
	}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: transport %s: %s", ErrWork, t.Kind, fmt.Sprintf(format, args...))
	}
	switch {
	case !slices.Contains(lawNames, t.Kind):
		return invalid("unknown kind; want %s", strings.Join(lawNames, ", "))
	case !slices.Contains(balanceNames, t.Balance) && t.Balance != "":
		return invalid("unknown balance %q; want %s", t.Balance, strings.Join(balanceNames, ", "))
	case t.Kind == "rccc" && t.Recovery == "go-back-n":
		return invalid("recovery go-back-n, but receivers grant credit for single packets; want selective")
	case t.Kind == "dcqcn" && (t.DCQCN.AlphaPeriod <= 0 || t.DCQCN.TimerPeriod <= 0 || t.DCQCN.MinRate <= 0):
		return invalid("an alpha_period of %v, a timer_period of %v and a min_rate of %v; want more than 0", t.DCQCN.AlphaPeriod, t.DCQCN.TimerPeriod, t.DCQCN.MinRate)
	case !hasGraph:
		return invalid("sources that inject packets by themselves; want a task graph")
	case o.Control == Credit:
		return invalid("queues with credits, which lose nothing; want drop-tail")
	case o.hasRanks():
		return invalid("packets with ranks; want first come, first served")
	case int64(packetBytes) <= int64(t.Header):
		return invalid("packets of %d B with a header of %d B; want larger packets", packetBytes, t.Header)
	case packetBytes > maxTransportPacket || t.AckBytes > maxTransportPacket:
		return invalid("packets of %d B; want at most %d B", packetBytes, maxTransportPacket)
	case t.Window > 0 && int64(t.Window) < int64(packetBytes):
		return invalid("a window of %d B below one packet of %d B; want at least one packet", t.Window, packetBytes)
	case t.MarkMax > 0 && t.MarkMin > t.MarkMax:
		return invalid("mark_min of %d B above mark_max of %d B; want at most that", t.MarkMin, t.MarkMax)
	case t.ResumeAt > 0 && t.PauseAt > 0 && t.ResumeAt > t.PauseAt:
		return invalid("resume_at of %d B above pause_at of %d B; want at most that", t.ResumeAt, t.PauseAt)
	case t.Acks == "carried" && w.Paths.Spread == nil:
		return invalid("carried acknowledgements on paths of messages; want a router that forwards at each node, such as spray on a graph")
	case t.Balance == "adaptive" && w.Paths.Spread == nil:
		return invalid("adaptive balance on paths of messages; want a router that forwards at each node, such as spray on a graph")
	}
	for i, l := range n.Links {
		if l.Buffer > 0 && l.Buffer < int64(packetBytes) {
			return invalid("%s has a queue of %d B, but packets have %d B; want a queue for at least one packet",
				n.ResourceName(int32(i)), l.Buffer, packetBytes)
		}
	}
	return nil
}

// TransportStats counts packets that a transport has treated.
type TransportStats struct {
	Resent  int64 // packets that were sent again
	Trimmed int64 // packets that were cut to their header
	Marked  int64
	Pauses  int64 // pauses of links
	// Messages is indexed by task.
	Messages []MessageStats
}

// MessageStats counts the packets of a message.
type MessageStats struct {
	Resent, Trimmed, Marked int32
	// Ideal is the time that the message takes alone, from its start to its arrival.
	Ideal engine.Time
	// ReturnDelay is the time from its arrival until its sender knows.
	ReturnDelay engine.Time
}
