package graph

import "fmt"

// Dragonfly has groups of fully connected routers. Links of its routers connect each group to
// all other groups (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly
// topology", ISCA 2008).
type Dragonfly struct {
	Routers int `key:"group_routers" doc:"a: routers per group, all joined to each other" default:"4" min:"1" max:"1024" source:""`
	Hosts   int `key:"router_hosts" doc:"p: hosts per router" default:"2" min:"1" max:"1024" source:""`
	Global  int `key:"router_global_links" doc:"h: links per router to other groups" default:"2" min:"1" max:"1024" source:""`
	Groups  int `key:"groups" doc:"g: number of groups, with equally many links per pair; 0 means the maximum, a h + 1" default:"0" min:"0" max:"65536" source:""`
}

// Shape returns the hosts in order of their routers, and then the routers in order of their
// groups. The links of a group to other groups are numbered from 0, router by router. Link l of
// group g leads to group g+l+1, modulo the number of groups. After a link to each other group,
// the next round of links begins.
func (d Dragonfly) Shape(wanted int) (*Shape, error) {
	global := d.Routers * d.Global
	groups := d.Groups
	if groups == 0 {
		groups = global + 1
	}
	if groups < 2 || groups > global+1 {
		return nil, fmt.Errorf("a dragonfly of %d groups, of which each has %d links to others; want 2 to %d",
			groups, global, global+1)
	}
	others := groups - 1
	rounds := global / others // links between two groups
	hosts := groups * d.Routers * d.Hosts
	insideGroups, betweenGroups := groups*d.Routers*(d.Routers-1)/2, groups*others/2*rounds // pairs of links
	s, err := newShape("a dragonfly", hosts, wanted, hosts+insideGroups+betweenGroups)
	if err != nil {
		return nil, err
	}

	for h := range hosts {
		s.addPair(h, hosts+h/d.Hosts, defaultRate)
	}

	routerOfLink := func(group, link int) int { return hosts + group*d.Routers + link/d.Global }
	for g := range groups {
		for a := range d.Routers {
			for b := range a {
				s.addPair(hosts+g*d.Routers+b, hosts+g*d.Routers+a, defaultRate)
			}
		}
		for l := range rounds * others {
			distance := l%others + 1 // from g to the other group
			if to := g + distance; to < groups {
				round := l / others
				back := round*others + (groups - distance) - 1 // the link of the other group to g
				s.addPair(routerOfLink(g, l), routerOfLink(to, back), defaultRate)
			}
		}
	}
	return s, nil
}
