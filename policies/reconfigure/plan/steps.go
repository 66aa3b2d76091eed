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
	"sim/policies/reconfigure/halt"
)

// Collective is an all-gather, reduce-scatter or all-reduce of n GPUs with k links out of and into each. Plans of it go
// in steps: in each, a link carries one message of any length, and the next begins when all have arrived.
type Collective struct {
	GPUs, Degree int // 2 <= n <= 2^14 and 1 <= k < n
	Op           collective.Kind
	// Bytes is the data of a GPU, M: what it puts into the sum, or has when all is gathered (as
	// collective.Call.Bytes). Shard s of n, which GPU s contributes (all-gather) or ends with (reduce-scatter),
	// is M/n, sizes differing by a byte at most. At least n.
	Bytes   int64
	Rate    float64     // of a link, bits per second
	Latency engine.Time // alpha: of a hop, besides serialising
	Delay   engine.Time // R: of a reconfiguration; the first topology takes one too
	// Stop is asked now and then; planning ends with halt.ErrHalted when it says so.
	Stop halt.When
}

// NewCollective returns the collective of an operation on a domain, with so many bytes a GPU. Its switches reconfigure together,
// also where the domain would let each do so on its own.
func NewCollective(d *scaleup.Domain, op collective.Kind, bytes int64) *Collective {
	return &Collective{GPUs: d.GPUs, Degree: d.Switches, Op: op, Bytes: bytes, Rate: float64(d.Rate), Latency: d.Latency, Delay: d.Delay}
}

// ErrCollective says that a Collective cannot be.
var ErrCollective = errors.New("plan: no such collective")

// maxGPUs is where planning in steps would no longer be a matter of seconds.
const maxGPUs = 1 << 14

// MinLinkRate is the least rate of links, in b/s: of slower ones the time of a byte does not fit.
const MinLinkRate = 2000

// Ops are the calls that are planned in steps.
var Ops = []collective.Kind{collective.AllReduce, collective.ReduceScatter, collective.AllGather}

// Check returns an ErrCollective for sizes, rates or times out of range.
func (p *Collective) Check() error {
	n := p.GPUs
	switch {
	case n < 2 || n > maxGPUs:
		return fmt.Errorf("%w: %d GPUs; want 2..%d", ErrCollective, n, maxGPUs)
	case p.Degree < 1 || p.Degree >= n:
		return fmt.Errorf("%w: %d links a GPU among %d GPUs; want 1..%d", ErrCollective, p.Degree, n, n-1)
	case !slices.Contains(Ops, p.Op):
		return fmt.Errorf("%w: %s; want one of %v", ErrCollective, p.Op, Ops)
	case p.Bytes < int64(n):
		return fmt.Errorf("%w: %s of %d B among %d GPUs; want at least a byte a shard, %d B", ErrCollective, p.Op, p.Bytes, n, n)
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("%w: links of %g b/s; want a finite rate above 0", ErrCollective, p.Rate)
	case p.Rate < MinLinkRate:
		return fmt.Errorf("%w: links of %g b/s; want at least %g b/s, for times of bytes are counted in 32 bits and fractions", ErrCollective, p.Rate, float64(MinLinkRate))
	case p.Latency < 0 || p.Delay < 0:
		return fmt.Errorf("%w: a latency of %v and a reconfiguration delay of %v; want neither below 0", ErrCollective, p.Latency, p.Delay)
	}
	// Of any plan: 2n steps, 64 phases, n times the data on one link.
	longest := 2*float64(n)*float64(p.Latency) + 64*float64(p.Delay) + float64(n)*float64(p.Bytes)*8*float64(engine.Second)/p.Rate
	if longest > math.MaxInt64/4 {
		return fmt.Errorf("%w: %s of %d B at %g b/s, with latencies of %v and delays of %v, may outlast simulated time (106 days)",
			ErrCollective, p.Op, p.Bytes, p.Rate, p.Latency, p.Delay)
	}
	return nil
}

// PieceStart returns where piece k of n of so many bytes begins, as collective.Call cuts its vector: the first ones are
// longer by a byte where it does not come out even.
func PieceStart(bytes int64, k, n int32) int64 {
	return bytes/int64(n)*int64(k) + min(int64(k), bytes%int64(n))
}

// StepTime is what a step takes whose longest message has so many bytes: alpha + bytes/rate, in whole ticks. Its ticks
// a byte are those of engine/packet, times 2^32.
func (p *Collective) StepTime(bytes int64) engine.Time {
	perByte := uint64(math.Round(math.Ldexp(8*float64(engine.Second)/p.Rate, 32)))
	hi, lo := bits.Mul64(perByte, uint64(bytes))
	return p.Latency + engine.Time(hi<<32|lo>>32)
}

// Kind is what the messages of a phase do.
type Kind uint8

const (
	// Scatter sends the sum so far of a piece, gives it up, and adds it to what the receiver has.
	Scatter Kind = iota
	// Exchange passes on the sums that GPUs had when it began, each by itself; when it ends, every GPU adds up those
	// that it has, its own included. It goes on over phases that are Open and the one behind them.
	Exchange
	// Gather sends copies of pieces that are complete: the sum of all GPUs, or in an all-gather the shard of its GPU.
	Gather
	// Fold sends the sums so far, of a piece to as many as there are links, and gives all up; a GPU then has the sums
	// of what the step brings it. What it keeps of its own it sends to itself, over a link that leads there.
	Fold
)

var kindNames = [...]string{"scatter", "exchange", "gather", "fold"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Piece is parts From..To-1 of a shard, of Steps.Parts. In an exchange Origin is the GPU whose sum it is, else it is
// -1.
type Piece struct{ Shard, From, To, Origin int32 }

// Message is all that crosses one link From -> To of a phase's topology in a step.
type Message struct {
	Phase, Step, From, To int32
	Pieces                []Piece
}

func (m *Message) String() string {
	return fmt.Sprintf("message %d->%d in step %d of phase %d", m.From, m.To, m.Step, m.Phase)
}

// Steps is what a plan does that goes in steps.
type Steps struct {
	Collective
	// Parts is how many parts each shard is cut into; sizes differ by a byte at most.
	Parts  int32
	Phases []Phase // as many as topologies
}

// Phase is what is done in steps on one topology.
type Phase struct {
	Kind Kind
	// Offsets are those of a topology that was made as a circulant, for people; nil of others.
	Offsets []int32
	// Reused: the topology is that of the phase before, so it costs no reconfiguration.
	Reused bool
	// Open: the exchange goes on in the next phase, so nothing is added up yet.
	Open bool
	// Longest is the bytes of the longest message of each step.
	Longest []int64
	// Messages writes out all messages, by step, sender and link. Those that would be empty are left out.
	Messages func() []Message
}

// Size is the bytes of a message.
func (s *Steps) Size(m *Message) (bytes int64) {
	n := int32(s.GPUs)
	for _, e := range m.Pieces {
		size := PieceStart(s.Bytes, e.Shard+1, n) - PieceStart(s.Bytes, e.Shard, n)
		bytes += PieceStart(size, e.To, s.Parts) - PieceStart(size, e.From, s.Parts)
	}
	return bytes
}

// Time is what all steps take.
func (s *Steps) Time() (sum engine.Time) {
	for i := range s.Phases {
		for _, b := range s.Phases[i].Longest {
			sum += s.StepTime(b)
		}
	}
	return sum
}
