package scenarios

import (
	"bytes"
	"testing"

	"sim/fabric/machine"
)

// TestBuiltInMachines reads all built-in profiles, and again what WriteMachine makes of them.
func TestBuiltInMachines(t *testing.T) {
	for _, name := range machine.Names() {
		data, _ := machine.Text(name)
		p, err := ReadMachine(name+".toml", data)
		if err != nil {
			t.Error(err)
			continue
		}
		written := WriteMachine(p)
		q, err := ReadMachine(name+".toml", written)
		if err != nil {
			t.Errorf("%s written back: %v", name, err)
		} else if !bytes.Equal(WriteMachine(q), written) {
			t.Errorf("%s changes when it is written and read", name)
		}
	}
}

// TestMachineRates runs the same call with a machine and with the rates that it reaches.
func TestMachineRates(t *testing.T) {
	base := []string{"machine=h100-ib"}
	p := Machine("h100-ib")
	rates := []string{
		"fabric.host_bandwidth=" + p.HostBandwidth().String(), "fabric.nic_bandwidth=" + p.NICBandwidth().String(),
	}
	const text = `
[workload]
kind = "all-reduce"
message = "64MB"
[fabric]
kind = "cluster"
hosts = 2
hosts_per_pod = 2
[policy]
routers = ["ecmp"]
collective = "ring"
`
	var results [2]*Scenario
	for i, overrides := range [][]string{base, rates} {
		s, err := Parse("call.toml", []byte(text), overrides)
		if err != nil {
			t.Fatal(err)
		}
		results[i] = s
	}
	if a, b := results[0].Fabric.Cluster, results[1].Fabric.Cluster; a != b {
		t.Errorf("the machine gives %+v, its rates give %+v", a, b)
	}
	if results[0].Digest() == results[1].Digest() || results[0].CellKey() == results[1].CellKey() {
		t.Error("the profile of the machine is not part of the digest or of the key of the cell")
	}
}

// TestMachineBaseSources: a profile with a base has its own sources, followed by the sources of the base.
func TestMachineBaseSources(t *testing.T) {
	base := Machine("h100-ib")
	derived, err := ReadMachine("x.toml", []byte("base = \"h100-ib\"\n[scale_out]\nlatency = \"1us\"\n[[source]]\nkeys = [\"scale_out.latency\"]\nfrom = \"assumed\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(derived.Sources), len(base.Sources)+1; got != want || derived.Sources[0].From != "assumed" {
		t.Errorf("got %d sources %v, want %d, the own one first", got, derived.Sources, want)
	}
}
