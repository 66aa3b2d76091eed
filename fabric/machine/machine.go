// Package machine describes real machines: the rates, efficiencies and costs that were measured
// or published for a kind of GPU and its network.
//
// A Profile is one TOML file. Profiles of common machines are built in (Names, Text). Package
// scenarios reads them (ReadMachine), because it knows the notation of keys. A number that is 0
// is not known, and what needs it fails with the error of Missing.
//
// Begin reading with Profile. The files of this package each describe one section of it.
package machine

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Profile is a real machine: nodes of GPUs with links inside a node and network interfaces.
type Profile struct {
	Name string // of the built-in profile or of the file
	Heading
	ScaleUp     Link
	ScaleOut    Network
	Step        Step
	Experts     Experts
	Collectives Collectives
	GPU         GPU
	Sources     []Source
	Text        []byte // the file
}

// Heading holds the keys of a profile before its tables.
type Heading struct {
	Base        string `key:"base" doc:"a built-in machine, whose numbers apply unless this profile has its own" default:"" unset:""`
	Title       string `key:"title" doc:"the machine in one line"`
	GPUsPerNode int    `key:"gpus_per_node" doc:"GPUs of a node" required:"" min:"1" max:"1024"`
}

// Link is the link of a GPU to the other GPUs of its node.
type Link struct {
	Rate       units.Rate `key:"rate" doc:"rate in each direction by the data sheet" required:"" above:"0" max:"1e16"`
	Efficiency float64    `key:"efficiency" doc:"share of the rate that large transfers reach" required:"" above:"0" max:"1"`
	// Reduction is Efficiency of reductions in the switch that joins the GPUs, such as NVLS.
	Reduction float64 `key:"reduction_efficiency" doc:"share of the rate that large reductions in the switch of a node reach; 0 means that it does not reduce" default:"0" min:"0" max:"1"`
	Mesh      bool    `key:"mesh" doc:"whether each two GPUs of a node have a link of their own, with an equal share of the rate" default:"false"`
}

// Network is the network interfaces of a node.
type Network struct {
	Rate       units.Rate  `key:"rate" doc:"rate of an interface in each direction by the data sheet" required:"" above:"0" max:"1e16"`
	Efficiency float64     `key:"efficiency" doc:"share of the rate that large transfers reach" required:"" above:"0" max:"1"`
	NICs       int         `key:"nics_per_node" doc:"network interfaces of a node; GPUs share them evenly" required:"" min:"1" max:"1024"`
	Latency    engine.Time `key:"latency" doc:"time that a hop between nodes takes longer than over InfiniBand" default:"0s" min:"0"`
}

// Source is the evidence for some numbers of a profile.
type Source struct {
	Keys []string `key:"keys" doc:"paths of the keys" required:""`
	From string   `key:"from" doc:"'fit' and the measurements that the numbers were fitted to, or 'published' and the place" required:""`
}

// HostBandwidth returns the rate that a GPU reaches to the other GPUs of its node, in each
// direction.
func (p *Profile) HostBandwidth() units.Rate {
	return units.Rate(float64(p.ScaleUp.Rate) * p.ScaleUp.Efficiency)
}

// NICBandwidth returns the rate that a GPU reaches over its share of the network interfaces, in
// each direction.
func (p *Profile) NICBandwidth() units.Rate {
	n := &p.ScaleOut
	return units.Rate(float64(n.Rate) * n.Efficiency * float64(n.NICs) / float64(p.GPUsPerNode))
}

// Missing returns the error of a use of the number at key, which the profile does not have.
// measurements names the data that determine it.
func (p *Profile) Missing(key, measurements string) error {
	return fmt.Errorf("machine %q has no %s; fit it by sim calibrate to %s, or write it in the profile",
		p.Name, key, measurements)
}

//go:embed profiles/*.toml
var profiles embed.FS

const directory = "profiles"

// Names returns the names of the built-in profiles in order.
func Names() (names []string) {
	entries, err := profiles.ReadDir(directory)
	if err != nil {
		panic(err) // the directory is embedded
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Text returns the file of a built-in profile, and whether there is one with that name.
func Text(name string) ([]byte, bool) {
	data, err := profiles.ReadFile(path.Join(directory, name+".toml"))
	return data, err == nil
}
