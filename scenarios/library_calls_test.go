package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// libraryCallText is a call on the nodes of a machine by the algorithm nccl.
const libraryCallText = `
machine = %q
[workload]
kind = %q
message = "%dB"
[fabric]
kind = "cluster"
hosts = %d
hosts_per_pod = %[4]d
%s
[policy]
routers = ["ecmp"]
collective = %q
`

// TestLibraryCalls: a call by the library of a machine takes longer if it is larger, as long at
// level packet as at level flow, and at least the bound of all algorithms. Without any costs, large
// calls are at least as long as the bound too.
func TestLibraryCalls(t *testing.T) {
	free := *Machine("h100-ib") // without costs other than the latencies of the library
	free.Collectives.Launch, free.Collectives.MessageLaunch = 0, 0
	free.Collectives.NetworkFill, free.Collectives.SwitchFill, free.Collectives.DirectFill, free.Collectives.RingFill = 0, 0, 0, 0
	freeFile := filepath.Join(t.TempDir(), "free.toml")
	if err := os.WriteFile(freeFile, WriteMachine(&free), 0o600); err != nil {
		t.Fatal(err)
	}

	rapid.Check(t, func(t *rapid.T) {
		machine := rapid.SampledFrom([]string{"a100", "h100-ib", "h100-efa", "b200", "mi355x", freeFile}).Draw(t, "machine")
		kind := rapid.SampledFrom([]string{
			"all-reduce", "all-reduce", "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "send-receive",
		}).Draw(t, "kind")
		hosts, bytes := rapid.IntRange(1, 3).Draw(t, "hosts"), rapid.Int64Range(1, 1<<22).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "large") {
			bytes += 1 << 28
		}
		options := rapid.SampledFrom([]string{"", "gpus_per_host = 4", "rails = true"}).Draw(t, "options")
		complete := func(bytes int64, algorithm string, overrides ...string) (seconds, bound float64) {
			s, err := Parse("call.toml", []byte(fmt.Sprintf(libraryCallText, machine, kind, bytes, hosts, options, algorithm)), overrides)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Run(t.Context(), s, RunOptions{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			row := &out.Document.Rows[0]
			return row.Metrics["completion_s"], out.Document.Reference["bound_completion_s"]
		}

		seconds, bound := complete(bytes, "nccl")
		if seconds < bound*(1-1e-6) {
			t.Fatalf("%s of %d B ends after %g s, before the bound of %g s", kind, bytes, seconds, bound)
		}
		if more, _ := complete(2*bytes, "nccl"); more < seconds*(1-1e-6) {
			t.Errorf("%s of %d B takes %g s, of twice as many %g s", kind, bytes, seconds, more)
		}
		if bytes < 1<<22 {
			packets, _ := complete(bytes, "nccl", "engine.level=packet")
			if packets < seconds*(1-1e-6) || packets > seconds*1.02+20e-6 {
				t.Errorf("%s of %d B takes %g s at level packet, %g s at level flow", kind, bytes, packets, seconds)
			}
		}
	})
}

// TestAlgorithmsNeedMachine: the algorithm nccl is not compared without a machine, and naming it then
// is a fault.
func TestAlgorithmsNeedMachine(t *testing.T) {
	const text = "[workload]\nkind = \"all-reduce\"\n[fabric]\nkind = \"cluster\"\nhosts = 2\nhosts_per_pod = 2\n"
	for _, list := range []string{"", "[policy]\ncollectives = \"all\"\n"} {
		s, err := Parse("call.toml", []byte(text+list), nil)
		if err != nil {
			t.Fatal(err)
		}
		with, err := Parse("call.toml", []byte("machine = \"h100-ib\"\n"+text+list), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := len(s.PolicyNames()), len(with.PolicyNames()); a+1 != b {
			t.Errorf("got %d algorithms without a machine and %d with one, want one more", a, b)
		}
	}
	if _, err := Parse("call.toml", []byte(text+"[policy]\ncollective = \"nccl\"\n"), nil); err == nil {
		t.Error("nccl without a machine is accepted")
	} else {
		t.Log(err)
	}
}
