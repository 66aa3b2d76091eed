// Transfers through one switch in SimGrid, with max-min sharing: sizes and starts come from a trace in the format "cm", which
// sim reads too (docs/traces.md). Each node has a link of 400 Gbit/s to the switch and one from it.
//
//   g++ -O2 -std=c++17 switch.cc -o switch -lsimgrid && ./switch trace.cm
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

int main(int argc, char** argv) {
  sg::Engine e(&argc, argv);
  for (const char* option : {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
                             "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0"})
    sg::Engine::set_config(option);

  std::ifstream in(argv[1]);
  std::string word;
  int nodes;
  long flows;
  in >> word >> nodes >> word >> flows;

  auto* zone = sg::create_star_zone("switch");
  std::vector<sg::Host*> hosts;
  for (int i = 0; i < nodes; i++) {
    auto* host = zone->create_host("h" + std::to_string(i), 1e9);
    const auto* up = zone->create_link("up" + std::to_string(i), 50e9)->set_latency(0)->seal();
    const auto* down = zone->create_link("down" + std::to_string(i), 50e9)->set_latency(0)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, std::vector<sg::LinkInRoute>{sg::LinkInRoute(up)}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, std::vector<sg::LinkInRoute>{sg::LinkInRoute(down)}, false);
    hosts.push_back(host);
  }
  zone->seal();

  sg::Actor::create("starter", hosts[0], [&] {
    std::vector<std::tuple<double, int, int, double>> all;
    std::string pair;
    long id;
    double start, size;
    while (in >> pair >> word >> id >> word >> start >> word >> size) {
      int from, to;
      sscanf(pair.c_str(), "%d->%d", &from, &to);
      all.emplace_back(start * 1e-12, from, to, size);
    }
    std::sort(all.begin(), all.end());
    std::vector<sg::CommPtr> running;
    for (const auto& [start, from, to, size] : all) {
      if (start > sg::Engine::get_clock()) sg::this_actor::sleep_until(start);
      running.push_back(sg::Comm::sendto_async(hosts[from], hosts[to], size));
    }
    sg::Comm::wait_all(running);
  });
  e.run();
  printf("%ld transfers end at %.9f s\n", flows, sg::Engine::get_clock());
}
