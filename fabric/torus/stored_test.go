package torus

import (
	"fmt"
	"hash/fnv"
	"testing"

	"sim/engine"
)

// TestStoredTori: links, ports, distances, rings, vectors, networks under faults and commands of switches of some tori are
// as stored, by the digest of each.
func TestStoredTori(t *testing.T) {
	for _, c := range []struct {
		name  string
		twist string
		open  []int // dimensions without wrap-around links
		dims  []int
		f     Faults
		want  uint64
	}{
		{"ring", "", nil, []int{7}, Faults{Chips: []int32{3}}, 0xa497646a6063bcf1},
		{"two by two", "", nil, []int{2, 2}, Faults{Links: []Hop{{1, 0, true}}}, 0x34bb781e873cb79c},
		{"flat", "", nil, []int{3, 5}, Faults{Links: []Hop{{4, 1, false}}, Drained: []Hop{{7, 0, true}}}, 0xb8bde139f2ca1ff7},
		{"box", "", nil, []int{2, 3, 4}, Faults{Chips: []int32{0, 23}, Machines: []int{1}}, 0x6b7a0d723dade5d3},
		{"mesh", "", []int{0, 2}, []int{3, 2, 4}, Faults{Links: []Hop{{0, 2, true}}}, 0x2c5ad6abc2025667},
		{"cubes", "", nil, []int{4, 4, 8}, Faults{Switches: []Switch{{2, 5}, {0, 0}}}, 0x3ac8463249d2fb22},
		{"twisted", TPUv4, nil, []int{4, 4, 8}, Faults{Switches: []Switch{{1, 15}}, Drained: []Hop{{9, 2, true}}}, 0x7c554991e0c10293},
		{"twisted small", TPUv4, nil, []int{2, 4, 4}, Faults{Links: []Hop{{5, 1, true}}}, 0x21748c7c3116c8df},
	} {
		z, err := New(c.dims...)
		if err != nil {
			t.Fatal(err)
		}
		if c.twist != "" {
			if err := z.Twist(c.twist); err != nil {
				t.Fatal(err)
			}
		}
		if c.open != nil {
			if err := z.Mesh(c.open...); err != nil {
				t.Fatal(err)
			}
		}
		h, err := z.Health(c.f)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		digest := fnv.New64a()
		degree, ports := z.Ports()
		fmt.Fprintln(digest, z, z.Symmetric(), z.Links(), degree, ports, z.Distances(), z.Snake(), *h)
		n := z.Network(h, engine.Link{Rate: 3e9, Latency: 5, Channels: 2})
		fmt.Fprintln(digest, n.Nodes, n.Links, n.Groups)
		ring, err := z.Hamiltonian()
		fmt.Fprintln(digest, ring, err == nil)
		vectors, err := z.Vectors()
		fmt.Fprintln(digest, vectors, err == nil)
		for d := range c.dims {
			rings, err := z.Rings(d)
			fmt.Fprintln(digest, rings, err == nil, z.Lines(d))
		}
		for a := range int32(z.Nodes()) {
			fmt.Fprintln(digest, z.At(a), z.MachineOf(a), z.Plus(a, 1), z.Subtract(a, 2))
			for d := range c.dims {
				for _, up := range []bool{false, true} {
					to, ok := z.Next(a, d, up)
					fmt.Fprintln(digest, to, ok, z.Wraps(a, d, up))
				}
			}
		}
		if CheckCubic(z) == nil {
			cubes := []int{5, 2}
			joined, err := CubeConnections(z, cubes)
			fmt.Fprintln(digest, joined, err)
			for _, before := range []*Torus{nil, z, must(t, "", c.dims...)} {
				commands, err := Reconnect(before, z, cubes, 6, c.f.Switches)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(digest, *commands)
			}
			if _, err := Reconnect(nil, z, cubes, 5, nil); err == nil {
				t.Errorf("%s: cube 5 of 5 is connected", c.name)
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
