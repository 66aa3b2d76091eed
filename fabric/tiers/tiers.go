// Package tiers is one fabric inside another: GPUs in domains, those in larger ones, each with a network of its own. What
// two GPUs exchange takes the innermost tier that joins them. A GPU attaches to each tier by the links that it has there,
// its NIC to that tier, which all that it sends over the tier shares.
//
// Which paths there are inside a tier is left to what routes on it.
package tiers

import (
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// ErrTiers is wrapped by every error about tiers that do not fit each other.
var ErrTiers = errors.New("tiers: no such machine")

// Tier is domains of so many GPUs each, one after the other.
type Tier struct {
	GPUs int // of a domain
	// Network joins the GPUs of a domain, which are its first nodes; those after them forward. nil is of a tier that is
	// no links, such as a domain that reconfigures.
	Network *engine.Network
}

// Machine is the tiers from the inside out.
type Machine []Tier

// Check fails where a tier is no larger than the one inside it, or is not whole domains of that, or has fewer nodes than
// GPUs.
func (m Machine) Check() error {
	inside := 1
	for i, t := range m {
		switch {
		case t.GPUs <= inside && (i > 0 || t.GPUs < 2):
			return fmt.Errorf("%w: tier %d joins %d GPUs, and what is inside it %d already", ErrTiers, i, t.GPUs, inside)
		case t.GPUs%inside != 0:
			return fmt.Errorf("%w: tier %d of %d GPUs does not divide into domains of %d", ErrTiers, i, t.GPUs, inside)
		case t.Network != nil && int(t.Network.Nodes) < t.GPUs:
			return fmt.Errorf("%w: tier %d has %d nodes for %d GPUs", ErrTiers, i, t.Network.Nodes, t.GPUs)
		}
		inside = t.GPUs
	}
	return nil
}

// JoiningTier returns the innermost tier, of those that are links or with all of any sort, of which one domain has all of the
// GPUs; the number of tiers where none has.
func (m Machine) JoiningTier(all bool, gpus ...int32) int {
	return max(0, slices.IndexFunc(append(slices.Clone(m), Tier{GPUs: int(^uint32(0) >> 1), Network: &engine.Network{}}), func(t Tier) bool {
		return (all || t.Network != nil) && !slices.ContainsFunc(gpus, func(g int32) bool { return int(g)/t.GPUs != int(gpus[0])/t.GPUs })
	}))
}

// Domain returns the network of a domain of tier t with all inside it that is links: its GPUs, and then the switches of
// one domain after the other, from the inside out. The links of tier i, domain after domain, are those from first[i] on,
// up to first[i+1].
func (m Machine) Domain(t int) (n *engine.Network, first []int) {
	n = &engine.Network{Nodes: int32(m[t].GPUs)}
	for _, tier := range m[:t+1] {
		first = append(first, len(n.Links))
		if tier.Network == nil {
			continue
		}
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
