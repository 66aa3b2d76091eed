package collective

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/torus"
)

// OnOff is a source that sends packets at a constant rate for a while: one each
// interval, the first an interval after the start (as ns-3's OnOffApplication).
type OnOff struct {
	Rate          units.Rate  // of payload, of each flow
	Payload       int32       // bytes of a packet that Rate counts
	Wire          int32       // bytes of a packet on links, at least Payload
	Start, Length engine.Time // of sending
}

// Every returns the ticks between packets; fractions are kept.
func (s OnOff) Every() float64 {
	return float64(s.Payload) * 8 / float64(s.Rate) * float64(engine.Second)
}

// Packets returns the packets of a flow: as many whole intervals as Length has.
func (s OnOff) Packets() int64 {
	const whole = 1e-9 // relative; a quotient that is whole but for rounding counts as such
	return int64(math.Floor(float64(s.Length) / s.Every() * (1 + whole)))
}

// Check fails where a flow sends nothing, or what cannot be.
func (s OnOff) Check() error {
	switch {
	case !(s.Rate > 0) || math.IsInf(float64(s.Rate), 0):
		return fmt.Errorf("%w: sources of %v; want a rate above 0", ErrTraffic, float64(s.Rate))
	case s.Payload < 1 || s.Wire < s.Payload:
		return fmt.Errorf("%w: packets of %d B with %d B of payload; want at least 1 B, and no more of payload than in all", ErrTraffic, s.Wire, s.Payload)
	case s.Start < 0 || s.Length < 1:
		return fmt.Errorf("%w: sources that send for %v from %v on", ErrTraffic, s.Length, s.Start)
	case s.Every() < 1:
		return fmt.Errorf("%w: %d B at %v is more than a packet a picosecond", ErrTraffic, s.Payload, s.Rate)
	case s.Packets() < 1:
		return fmt.Errorf("%w: %v of %d B packets send none in %v; want at least %v", ErrTraffic, s.Rate, s.Payload, s.Length, engine.Time(math.Ceil(s.Every())))
	}
	return nil
}

// Phase is traffic whose flows all send by one on-off source each.
type Phase struct {
	*Traffic
	OnOff
}

// DataTensor is data-tensor parallelism (Gottipati et al., "Investigating
// Reconfigurable Topologies for Optical Circuits", Sec. II-B.2): phases of
// all-to-all within the slices of the tensor dimensions and of rings along the data
// dimensions in turn. The zero value of an option is its default, which is the
// paper's.
type DataTensor struct {
	Torus *torus.Torus
	// Tensor and Data are the dimensions of the slices and of the rings. No
	// dimension is in both. Where one of them is nil it is all that are not in the
	// other; where both are, Data is the last.
	Tensor, Data []int
	// Form is how rings are laid over links (RingsAlong); BothWays has each rank
	// send to the one before it too.
	Form     Form
	BothWays bool

	Source     OnOff       // of the all-to-all phases; Start and Length are of the first
	RingRate   units.Rate  // of the ring phases; 0 is Source.Rate
	RingLength engine.Time // of the ring phases; 0 is Source.Length
	Times      int         // both phases are had in turn so often; 0 is 3
	Down       []bool      // nodes that are left out; nil is none
}

// Phases returns the phases in order of time, each beginning when the one before
// it ends. All phases of a kind share their flows. It fails where a dimension is
// named twice, a slice or ring has less than two nodes, or a source sends nothing.
func (w DataTensor) Phases() ([]Phase, error) {
	if w.Data == nil && w.Tensor == nil {
		w.Data = []int{len(w.Torus.Dims) - 1}
	}
	if w.Data == nil {
		w.Data = w.others(w.Tensor)
	}
	if w.Tensor == nil {
		w.Tensor = w.others(w.Data)
	}
	for _, d := range w.Data {
		if slices.Contains(w.Tensor, d) {
			return nil, fmt.Errorf("%w: dimension %s is of data and of tensor parallelism; want one of them", ErrTraffic, torus.DimName(d))
		}
	}
	if w.Times == 0 {
		w.Times = 3
	}
	if w.Times < 0 {
		return nil, fmt.Errorf("%w: %d alternations of data and tensor parallelism; want at least 1", ErrTraffic, w.Times)
	}
	tensor, ring := w.Source, w.Source
	if w.RingRate != 0 {
		ring.Rate = w.RingRate
	}
	if w.RingLength != 0 {
		ring.Length = w.RingLength
	}
	for _, s := range []OnOff{tensor, ring} {
		if err := s.Check(); err != nil {
			return nil, err
		}
	}
	within, err := SliceAllToAll(w.Torus, w.Tensor, tensor.message(), w.Down)
	if err != nil {
		return nil, err
	}
	along, err := RingSteps(w.Torus, w.Data, w.Form, w.BothWays, ring.message(), w.Down)
	if err != nil {
		return nil, err
	}
	var phases []Phase
	at := w.Source.Start
	for range w.Times {
		for _, p := range []Phase{{within, tensor}, {along, ring}} {
			p.Start = at
			at += p.Length
			phases = append(phases, p)
		}
	}
	return phases, nil
}

// others returns the dimensions of the torus that are not among some.
func (w DataTensor) others(dims []int) []int {
	var rest []int
	for d := range w.Torus.Dims {
		if !slices.Contains(dims, d) {
			rest = append(rest, d)
		}
	}
	return rest
}

// message returns what a flow sends, on the wire.
func (s OnOff) message() int64 { return s.Packets() * int64(s.Wire) }

// SliceAllToAll is a message from every node to every other one of its slice along
// dimensions of a torus: tensor parallelism. Nodes that are down are left out; nil
// is none.
func SliceAllToAll(o *torus.Torus, dims []int, message int64, down []bool) (*Traffic, error) {
	name := "all-to-all in " + dimNames(dims)
	if err := check(name, o.Nodes(), message, down); err != nil {
		return nil, err
	}
	groups, err := Slices(o, dims)
	if err != nil {
		return nil, err
	}
	if err := fits(name, int64(o.Nodes())*int64(len(groups[0])), message); err != nil {
		return nil, err
	}
	t := &Traffic{Name: name, Nodes: o.Nodes(), Message: message}
	for _, g := range groups {
		for _, s := range g {
			for _, d := range g {
				if s != d && (down == nil || !down[s] && !down[d]) {
					t.Flows = append(t.Flows, engine.Flow{Src: s, Dst: d})
				}
			}
		}
	}
	slices.SortFunc(t.Flows, byPair)
	return t, t.some()
}

// RingSteps is a message from every node to the one after it on its ring along
// dimensions of a torus (RingsAlong), both ways also to the one before it: what one
// step of a ring collective sends at once, and the ring phase of DataTensor. A
// ring of two sends as much one way as both ways.
func RingSteps(o *torus.Torus, dims []int, form Form, bothWays bool, message int64, down []bool) (*Traffic, error) {
	name := "rings along " + dimNames(dims)
	if err := check(name, o.Nodes(), message, down); err != nil {
		return nil, err
	}
	if err := fits(name, 2*int64(o.Nodes()), message); err != nil {
		return nil, err
	}
	rings, err := RingsAlong(o, dims, form, down)
	if err != nil {
		return nil, err
	}
	t := &Traffic{Name: name, Nodes: o.Nodes(), Message: message}
	for _, ring := range rings {
		for i, s := range ring {
			d := ring[(i+1)%len(ring)]
			t.Flows = append(t.Flows, engine.Flow{Src: s, Dst: d})
			if bothWays && len(ring) > 2 {
				t.Flows = append(t.Flows, engine.Flow{Src: d, Dst: s})
			}
		}
	}
	slices.SortFunc(t.Flows, byPair)
	return t, t.some()
}
