// This file reads and writes profiles of machines (package machine), and applies the profile
// that the key "machine" names.

package scenarios

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sim/fabric/machine"
	"sim/internal/text"
	"sim/scenarios/schema"
)

// machineParts are the tables of a profile.
func machineParts(p *machine.Profile) []schema.Part {
	return []schema.Part{
		{Doc: "Keys before the first table.", Specs: []any{&p.Heading}},
		{Path: "scale_up", Doc: "The links of a GPU inside its node.", Specs: []any{&p.ScaleUp}},
		{Path: "scale_out", Doc: "The network interfaces of a node.", Specs: []any{&p.ScaleOut}},
		{Path: "step", Doc: "How the compute times of GPUs vary in a training step.", Specs: []any{&p.Step}},
		{Path: "experts", Doc: "Dispatch and combine of the tokens of experts.", Specs: []any{&p.Experts}},
		{Path: "gpu", Doc: "The kernels of a GPU.", Specs: []any{&p.GPU}},
		{Path: "collectives", Doc: "Collective calls.", Specs: []any{&p.Collectives}},
		{Path: "source", Doc: "The evidence for the numbers.", Specs: []any{&p.Sources}},
	}
}

// ReadMachine reads a profile. name stands for the file in diagnostics.
func ReadMachine(name string, data []byte) (*machine.Profile, error) {
	root, layer, faults := schema.Decode(name, data)
	if faults != nil {
		return nil, faults
	}
	p := &machine.Profile{Name: machineName(name), Text: data}
	root, base := withMachineBase(root)
	p.Text = slices.Concat(base, data)
	r := schema.NewReader(root, []schema.Layer{layer})
	r.Schema = schema.New(&schema.Names{}, machineParts(p)...)
	const complete = true
	r.Read(complete)
	r.ApplyDefaults()
	if p.Base != "" && !slices.Contains(machine.Names(), p.Base) {
		r.Reject("base", schema.Quote(p.Base)+" is no built-in machine", "write a name of sim list machines")
	}
	for i, s := range p.Sources {
		for _, key := range s.Keys {
			if r.Table(key) == nil && r.Key(key) == nil {
				r.Reject(fmt.Sprintf("source.%d.keys", i), schema.Quote(key)+" is no key of a profile",
					"write a path such as scale_up.rate")
			}
		}
	}
	if len(r.Diagnostics) > 0 {
		return nil, r.Diagnostics.Sorted()
	}
	return p, nil
}

// withMachineBase returns the tables of a profile on top of the tables of its base, and the text of
// the base. Sources of the base follow the sources of the profile. Without a valid base, it returns
// root.
func withMachineBase(root map[string]any) (merged map[string]any, base []byte) {
	name, _ := root["base"].(string)
	text, ok := machine.Text(name)
	if !ok {
		return root, nil
	}
	below, _, faults := schema.Decode(name, text)
	if faults != nil {
		panic(faults) // TestBuiltInMachines reads all
	}
	below, deeper := withMachineBase(below)
	merged = mergeTables(below, root)
	own, _ := root["source"].([]map[string]any)
	inherited, _ := below["source"].([]map[string]any)
	merged["source"] = slices.Concat(own, inherited)
	return merged, slices.Concat(deeper, text)
}

// WriteMachine returns the file of a profile, with the numbers and sources of its base. ReadMachine
// reads the same numbers from it.
func WriteMachine(p *machine.Profile) []byte {
	var b bytes.Buffer
	whole := *p
	whole.Base = ""
	schema.New(&schema.Names{}, machineParts(&whole)...).Write(&b)
	return b.Bytes()
}

// machineName returns the name of the profile in a file.
func machineName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".toml")
}

// builtInMachines returns the built-in profiles in the order of their names. They are shared
// and must not be changed.
var builtInMachines = sync.OnceValue(func() (all []*machine.Profile) {
	for _, name := range machine.Names() {
		data, _ := machine.Text(name)
		p, err := ReadMachine(name+".toml", data)
		if err != nil {
			panic(err) // TestBuiltInMachines reads all
		}
		all = append(all, p)
	}
	return all
})

// Machine returns the built-in profile with the given name, or nil. It is shared and must not
// be changed.
func Machine(name string) *machine.Profile {
	all := builtInMachines()
	i := slices.IndexFunc(all, func(p *machine.Profile) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// readMachine reads the profile that the key "machine" names: a built-in one, or a file, whose
// name ends with ".toml".
func (c *checker) readMachine() {
	const key = "machine"
	s := c.s
	if s.Machine == "" || !c.OK(key) {
		return
	}
	if !strings.HasSuffix(s.Machine, ".toml") {
		if s.Profile = Machine(s.Machine); s.Profile == nil {
			hint := text.DidYouMean(s.Machine, machine.Names(), "write a name of sim list machines, or a file that ends with .toml")
			c.Reject(key, schema.Quote(s.Machine)+" is no built-in machine", strings.TrimPrefix(hint, "; "))
		}
		return
	}

	data, fileName, err := c.readRelative(key, s.Machine)
	if err != nil {
		c.rejectf(key, "%s; name a file as sim calibrate writes it", err.Error())
		return
	}
	p, err := ReadMachine(fileName, trimByteOrderMark(data))
	if err != nil {
		faults, _ := err.(schema.Diagnostics)
		c.Diagnostics = append(c.Diagnostics, faults...)
		return
	}
	s.Machine, s.Profile = fileName, p
}

// setCallMachine sets the machine of the library of collective calls: the profile, with the nodes of
// the cluster.
func (s *Scenario) setCallMachine() {
	if k := &s.Fabric.Cluster; s.Profile != nil && s.hasCluster() && k.HostBandwidth > 0 && k.NICBandwidth > 0 {
		s.Policy.Calls.Machine = s.Profile.WithNodes(k.GPUsPerHost, k.HostBandwidth, k.NICBandwidth)
	}
}
