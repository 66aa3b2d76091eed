// Package tiers describes nested networks: GPUs form domains, which form larger domains, and
// each tier has its own network. Data between two GPUs uses the innermost tier that joins them.
// A GPU has its own links to each tier, such as its NIC; all its traffic on the tier shares
// them.
//
// Machine holds the tiers, and Machine.Domain builds the network of a domain. Routers choose the
// paths inside a tier.
package tiers

import (
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// ErrTiers is wrapped by errors about tiers that do not fit each other.
var ErrTiers = errors.New("tiers: no such machine")

// Tier consists of consecutive domains with the same number of GPUs.
type Tier struct {
	GPUs int // number per domain
	// Network connects the GPUs of a domain, which are its first nodes. The other nodes forward. It
	// is nil if the tier has no fixed links, such as a domain that reconfigures.
	Network *engine.Network
}

// Machine lists the tiers, the innermost first.
type Machine []Tier

// Check returns an error if a tier is not larger than the previous one, does not divide into its
// domains, or has fewer nodes than GPUs.
func (m Machine) Check() error {
	inside := 1
	for i, t := range m {
		switch {
		case t.GPUs <= inside && (i > 0 || t.GPUs < 2):
			return fmt.Errorf("%w: tier %d has domains of %d GPUs; want more than the %d of the tier inside it",
				ErrTiers, i, t.GPUs, inside)
		case t.GPUs%inside != 0:
			return fmt.Errorf("%w: tier %d of %d GPUs does not divide into domains of %d",
				ErrTiers, i, t.GPUs, inside)
		case t.Network != nil && int(t.Network.Nodes) < t.GPUs:
			return fmt.Errorf("%w: tier %d has %d nodes for %d GPUs",
				ErrTiers, i, t.Network.Nodes, t.GPUs)
		}
		inside = t.GPUs
	}
	return nil
}

// JoiningTier returns the innermost tier on which one domain contains all of the given GPUs. It
// returns the number of tiers if no tier joins them.
func (m Machine) JoiningTier(gpus ...int32) int {
	return m.joiningTier(gpus, func(Tier) bool { return true })
}

// JoiningTierWithLinks is like JoiningTier, but skips tiers without links.
func (m Machine) JoiningTierWithLinks(gpus ...int32) int {
	return m.joiningTier(gpus, func(t Tier) bool { return t.Network != nil })
}

// joiningTier is JoiningTier restricted to the tiers for which include returns true.
func (m Machine) joiningTier(gpus []int32, include func(Tier) bool) int {
	for i, t := range m {
		isElsewhere := func(g int32) bool { return int(g)/t.GPUs != int(gpus[0])/t.GPUs }
		if include(t) && !slices.ContainsFunc(gpus, isElsewhere) {
			return i
		}
	}
	return len(m)
}

// Domain returns the network of one domain of tier t with all inner tiers that have links. Its
// nodes are the GPUs and then the switches, in order of tiers and domains. The links of tier i
// are first[i] <= link < first[i+1], in order of domains.
func (m Machine) Domain(t int) (n *engine.Network, first []int) {
	n = &engine.Network{Nodes: int32(m[t].GPUs)}
	for _, tier := range m[:t+1] {
		first = append(first, len(n.Links))
		if tier.Network == nil {
			continue
		}

		// GPU numbers start at base, and the switches of this domain follow the nodes so far.
		for base := 0; base < m[t].GPUs; base += tier.GPUs {
			switches := n.Nodes - int32(tier.GPUs)
			id := func(node int32) int32 {
				if int(node) < tier.GPUs {
					return int32(base) + node
				}
				return switches + node
			}
			for _, l := range tier.Network.Links {
				l.From, l.To = id(l.From), id(l.To)
				n.Links = append(n.Links, l)
			}
			n.Nodes += tier.Network.Nodes - int32(tier.GPUs)
		}
	}
	return n, append(first, len(n.Links))
}
