package plan

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
)

// Collective is an all-gather, reduce-scatter or all-reduce of n GPUs with k links out of
// and into each. It is the input of package policies/reconfigure/collective, which plans it in
// steps. In a step each link carries one message of any length. The next step begins when all
// messages have arrived.
type Collective struct {
	GPUs, Degree int // 2 <= n <= 2^14 and 1 <= k < n
	Op           collective.Kind
	// Bytes is the data per GPU, M: the input of the sum, or the result of an all-gather
	// (as collective.Call.Bytes). GPU s contributes shard s of n (all-gather) or ends with
	// it (reduce-scatter). A shard has M/n bytes; sizes differ by at most one byte. Bytes
	// is at least n.
	Bytes   int64
	Rate    float64     // of a link, in bits per second
	Latency engine.Time // alpha: per hop, in addition to serialisation
	Delay   engine.Time // R: per reconfiguration, including the first topology
	// Stop is polled. When it reports true, planning ends with cancellation.ErrCancelled.
	Stop cancellation.Condition
}

// NewCollective returns the collective of an operation on a domain, with the given bytes
// per GPU. Its switches reconfigure simultaneously, even if the domain allows independent
// switches.
func NewCollective(d *scaleup.Domain, op collective.Kind, bytes int64) *Collective {
	return &Collective{
		GPUs:    d.GPUs,
		Degree:  d.Switches,
		Op:      op,
		Bytes:   bytes,
		Rate:    float64(d.Rate),
		Latency: d.Latency,
		Delay:   d.Delay,
	}
}

// ErrCollective is returned for an invalid Collective.
var ErrCollective = errors.New("plan: invalid collective")

// maxGPUs limits the GPUs of a Collective. Planning larger ones would take longer than
// seconds.
const maxGPUs = 1 << 14

// MinLinkRate is the lowest rate of a link, in bits per second. StepTime stores the time per
// byte, in ticks of 1 ps times 2^32, in 64 bits. At 2000 bits per second this is 1.7e19, just
// below 2^64 = 1.8e19.
const MinLinkRate = 2000

// Ops are the operations that are planned in steps.
var Ops = []collective.Kind{collective.AllReduce, collective.ReduceScatter, collective.AllGather}

// Check returns ErrCollective for sizes, rates or times out of range.
func (p *Collective) Check() error {
	n := p.GPUs
	switch {
	case n < 2 || n > maxGPUs:
		return fmt.Errorf("%w: %d GPUs; want 2..%d", ErrCollective, n, maxGPUs)
	case p.Degree < 1 || p.Degree >= n:
		return fmt.Errorf("%w: %d links a GPU among %d GPUs; want 1..%d", ErrCollective, p.Degree,
			n, n-1)
	case !slices.Contains(Ops, p.Op):
		return fmt.Errorf("%w: %s; want one of %v", ErrCollective, p.Op, Ops)
	case p.Bytes < int64(n):
		return fmt.Errorf("%w: %s of %d B among %d GPUs; want at least a byte a shard, %d B",
			ErrCollective, p.Op, p.Bytes, n, n)
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("%w: links of %g b/s; want a finite rate above 0", ErrCollective, p.Rate)
	case p.Rate < MinLinkRate:
		return fmt.Errorf("%w: links of %g b/s; want at least %g b/s, because the time per byte overflows below", ErrCollective, p.Rate, float64(MinLinkRate))
	case p.Latency < 0 || p.Delay < 0:
		return fmt.Errorf("%w: a latency of %v and a reconfiguration delay of %v; want neither below 0",
			ErrCollective, p.Latency, p.Delay)
	}

	// The times of all plans must fit into engine.Time, with a factor of 4 to spare for sums. No plan
	// has more steps than a ring (2n), more phases than maxPhases, or sends more than n times the data
	// over one link.
	const maxPhases = 64 // plans have O(log n) phases, and n is at most maxGPUs
	longest := 2*float64(n)*float64(p.Latency) + maxPhases*float64(p.Delay) +
		float64(n)*float64(p.Bytes)*8*float64(engine.Second)/p.Rate
	if longest > math.MaxInt64/4 {
		return fmt.Errorf("%w: %s of %d B at %g b/s, with latencies of %v and delays of %v, may outlast simulated time (106 days)",
			ErrCollective, p.Op, p.Bytes, p.Rate, p.Latency, p.Delay)
	}
	return nil
}

// PieceStart returns the start of piece k of n in the given number of bytes. As in
// collective.Call, the first pieces are one byte longer if the division leaves a remainder.
func PieceStart(bytes int64, k, n int32) int64 {
	return bytes/int64(n)*int64(k) + min(int64(k), bytes%int64(n))
}

// StepTime returns the time of a step whose longest message has the given bytes: alpha +
// bytes/rate, rounded down to whole ticks. It uses fixed-point numbers with 32 fractional bits,
// as engine/packet does, so that both compute the same times.
func (p *Collective) StepTime(bytes int64) engine.Time {
	ticksPerByte := uint64(math.Round(math.Ldexp(8*float64(engine.Second)/p.Rate, 32))) // times 2^32
	hi, lo := bits.Mul64(ticksPerByte, uint64(bytes))
	return p.Latency + engine.Time(hi<<32|lo>>32) // drop the fractional bits
}

// Kind is the operation of the messages of a phase.
type Kind uint8

const (
	// Scatter sends the partial sum of a piece, which the receiver adds to its own. The
	// sender no longer has it.
	Scatter Kind = iota
	// Exchange forwards the sums that GPUs had when it began, each separately. At its end,
	// each GPU adds up the sums that it has, including its own. It continues over phases
	// that are Open, and ends with the phase after them.
	Exchange
	// Gather sends copies of complete pieces: the sum of all GPUs, or in an all-gather the
	// shard of its GPU.
	Gather
	// Fold sends the partial sums of a piece to as many GPUs as there are links. The sender
	// keeps none, and then has the sums that it receives in the step. A GPU keeps its own
	// sum by sending it to itself, over a link to itself.
	Fold
)

// kindNames are the names of kinds in JSON and messages, indexed by Kind.
var kindNames = [...]string{"scatter", "exchange", "gather", "fold"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Piece is parts From..To-1 of a shard; see Steps.Parts. In an exchange, Origin is the GPU
// whose sum it is, else it is -1.
type Piece struct{ Shard, From, To, Origin int32 }

// Message is the content of one link From -> To of a phase's topology in a step.
type Message struct {
	Phase, Step, From, To int32
	Pieces                []Piece
}

func (m *Message) String() string {
	return fmt.Sprintf("message %d->%d in step %d of phase %d", m.From, m.To, m.Step, m.Phase)
}

// Steps describes a plan in steps: the field Steps of a Plan of a collective.
type Steps struct {
	Collective // the operation that is planned; GPUs, Degree, Op, Bytes, Rate, Latency, Delay
	// Parts is the number of parts per shard. Their sizes differ by at most one byte.
	Parts  int32
	Phases []Phase // one per topology
}

// Phase has the steps on one topology.
type Phase struct {
	Kind Kind
	// Offsets are the offsets of a circulant, for display; nil for other topologies.
	Offsets []int32
	// Reused: the topology is the same as in the previous phase, so it takes no
	// reconfiguration.
	Reused bool
	// Open: the exchange continues in the next phase, so nothing is added up yet.
	Open bool
	// MaxMessageBytes is the number of bytes of the longest message, indexed by step.
	MaxMessageBytes []int64
	// Messages returns all messages, ordered by step, sender and link, without empty ones.
	Messages func() []Message
}

// Size returns the bytes of a message.
func (s *Steps) Size(m *Message) (bytes int64) {
	n := int32(s.GPUs)
	for _, e := range m.Pieces {
		size := PieceStart(s.Bytes, e.Shard+1, n) - PieceStart(s.Bytes, e.Shard, n)
		bytes += PieceStart(size, e.To, s.Parts) - PieceStart(size, e.From, s.Parts)
	}
	return bytes
}

// Time returns the time of all steps.
func (s *Steps) Time() (sum engine.Time) {
	for i := range s.Phases {
		for _, b := range s.Phases[i].MaxMessageBytes {
			sum += s.StepTime(b)
		}
	}
	return sum
}
