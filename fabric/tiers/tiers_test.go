package tiers

import (
	"errors"
	"fmt"
	"testing"

	"sim/engine"
)

// star returns GPUs behind a switch.
func star(gpus int, rate float64) *engine.Network {
	n := &engine.Network{Nodes: int32(gpus) + 1}
	for g := range int32(gpus) {
		n.Links = append(n.Links, engine.Link{From: g, To: int32(gpus), Rate: rate}, engine.Link{From: int32(gpus), To: g, Rate: rate})
	}
	return n
}

// TestMachine: a pair of GPUs takes the innermost tier that joins it, over links of its own domain.
func TestMachine(t *testing.T) {
	m := Machine{{2, star(2, 3)}, {4, nil}, {8, star(8, 1)}}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		joiningTier func(gpus ...int32) int
		gpus        []int32
		want        int
	}{
		{m.JoiningTier, []int32{0, 1}, 0}, {m.JoiningTier, []int32{1, 2}, 1}, {m.JoiningTier, []int32{3, 4}, 2},
		{m.JoiningTier, []int32{7, 8}, 3}, {m.JoiningTier, []int32{4, 5}, 0}, {m.JoiningTier, []int32{0, 3, 1}, 1},
		{m.JoiningTierWithLinks, []int32{1, 2}, 2}, {m.JoiningTierWithLinks, []int32{6, 7}, 0},
	} {
		if got := c.joiningTier(c.gpus...); got != c.want {
			t.Errorf("tier %d joins %v, want %d", got, c.gpus, c.want)
		}
	}
	n, first := m.Domain(2)
	if fmt.Sprint(first) != "[0 16 16 32]" || n.Nodes != 8+4+1 {
		t.Errorf("links from %v on, %d nodes", first, n.Nodes)
	}
	for i, want := range map[int]engine.Link{
		0: {From: 0, To: 8, Rate: 3}, 6: {From: 3, To: 9, Rate: 3}, 15: {From: 11, To: 7, Rate: 3}, 16: {From: 0, To: 12, Rate: 1}, 31: {From: 12, To: 7, Rate: 1},
	} {
		if fmt.Sprint(n.Links[i]) != fmt.Sprint(want) {
			t.Errorf("link %d is %v, want %v", i, n.Links[i], want)
		}
	}
	if err := n.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Machine{{{1, nil}}, {{4, nil}, {4, nil}}, {{4, nil}, {6, nil}}, {{4, star(2, 1)}}} {
		if err := bad.Check(); !errors.Is(err, ErrTiers) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
