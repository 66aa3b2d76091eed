package scaleup

import (
	"fmt"
	"math"
	"math/big"

	"sim/engine"
)

// Slot returns T, the time in which a chunk of at least 1 byte crosses a link: latency + chunk /
// rate (paper Sec. 2.1), rounded up to a tick. It returns engine.Never if the time exceeds the
// range of engine.Time. d must pass Check.
func (d *Domain) Slot(chunk int64) engine.Time {
	rate := new(big.Rat).SetFloat64(float64(d.Rate))
	if rate == nil || rate.Sign() <= 0 {
		return engine.Never
	}
	// The arithmetic is exact, so that rounding errors cannot make a slot one tick too long.
	t := new(big.Rat).SetInt64(int64(engine.Second))
	t.Mul(t, new(big.Rat).SetInt64(chunk)).Mul(t, new(big.Rat).SetInt64(8)).Quo(t, rate)
	ticks, rest := new(big.Int).QuoRem(t.Num(), t.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		ticks.Add(ticks, big.NewInt(1))
	}
	if !ticks.IsInt64() || ticks.Int64() > math.MaxInt64-int64(d.Latency) {
		return engine.Never
	}
	return d.Latency + engine.Time(ticks.Int64())
}

// Network returns the network of the domain while its switches form t. Node u is GPU u, and link
// i is edge i of t, with an unbounded queue. It returns the errors of Check of the domain and of
// t.
func (d *Domain) Network(t Topology) (*engine.Network, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	if err := t.Check(d.GPUs, d.Switches); err != nil {
		return nil, err
	}
	n := &engine.Network{Nodes: int32(d.GPUs), Links: make([]engine.Link, len(t))}
	for i, e := range t {
		n.Links[i] = engine.Link{From: e.From, To: e.To, Rate: float64(d.Rate), Latency: d.Latency}
	}
	n.ResourceNamer = func(r int32) string { return fmt.Sprintf("link %d->%d", t[r].From, t[r].To) }
	return n, nil
}
