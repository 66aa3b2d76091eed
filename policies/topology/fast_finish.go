package topology

func (s *fastSearch) polish()               {}
func (s *fastSearch) savePorts(tol float64) {}
