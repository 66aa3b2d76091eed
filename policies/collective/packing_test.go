package collective

import (
	"sim/internal/numbers"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/torus"
)

// TestPackingChunk: with a chunk size, tree-packing sends a broadcast as ceil(bytes / chunk)
// chunks of at most that size, each once to every other rank.
func TestPackingChunk(t *testing.T) {
	o, err := torus.New(3, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ByName("tree-packing")
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 100_001
	p := &Problem{Call: Call{Kind: Broadcast, Group: numbers.Below(int32(9)), Bytes: bytes}, Network: o.Network(nil, engine.Link{Rate: 8e9}), Torus: o}
	for _, chunk := range []int64{bytes, 50_001, 1000, 777} {
		s, err := r.Expand(t.Context(), p, Options{Chunk: units.Bytes(chunk)})
		if err != nil {
			t.Fatal(err)
		}
		count := (bytes + chunk - 1) / chunk
		if got, want := int64(len(s.Transfers)), 8*count; got != want {
			t.Errorf("chunks of %d B: %d transfers, want %d", chunk, got, want)
		}
		for i := range s.Transfers {
			if got := s.Transfers[i].Bytes; got > chunk {
				t.Errorf("chunks of %d B: transfer %d has %d B", chunk, i, got)
			}
		}
	}
}
