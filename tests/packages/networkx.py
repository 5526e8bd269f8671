# package: networkx
# modules: networkx numpy scipy
import networkx as nx
# %% the version
nx.__version__
# %% graphs
G = nx.Graph([(1, 2), (2, 3), (3, 1), (3, 4)]); G.add_edge(0, 1, weight=2.5)
assert G.number_of_nodes() == 5 and list(G.neighbors(4)) == [3]
print(G, G.edges(data=True), dict(G.degree()))
for u, v, d in G.edges(data=True): pass
# %% paths
assert nx.shortest_path(G, 0, 4) == [0, 1, 3, 4]
nx.dijkstra_path(G, 0, 4), dict(nx.all_pairs_shortest_path_length(G)), nx.has_path(G, 1, 4), list(nx.all_simple_paths(G, 1, 4)), nx.astar_path(G, 1, 4)
# %% components, cycles, trees
list(nx.connected_components(G)), nx.cycle_basis(G), nx.minimum_spanning_tree(G), list(nx.topological_sort(nx.DiGraph([(1, 2), (2, 3)]))), nx.is_directed_acyclic_graph(nx.DiGraph([(1, 2)])), list(nx.strongly_connected_components(nx.DiGraph([(1, 2), (2, 1)])))
# %% centrality, communities
nx.degree_centrality(G), nx.betweenness_centrality(G), nx.closeness_centrality(G), nx.clustering(G), nx.density(G), nx.diameter(G)
nx.community.louvain_communities(G, seed=1), nx.community.greedy_modularity_communities(G), list(nx.community.label_propagation_communities(G))
# %% flows, matching, colouring
D = nx.DiGraph(); D.add_edge("s", "t", capacity=3)
assert nx.maximum_flow_value(D, "s", "t") == 3
nx.max_weight_matching(G), nx.greedy_color(G), nx.minimum_cut(D, "s", "t")
# %% generators, formats
nx.erdos_renyi_graph(10, 0.3, seed=1), nx.karate_club_graph(), nx.complete_graph(4), nx.barabasi_albert_graph(10, 2, seed=1), nx.grid_2d_graph(2, 2), nx.path_graph(3)
nx.node_link_data(G), list(nx.generate_edgelist(G)), list(nx.generate_graphml(nx.path_graph(3))), nx.to_dict_of_lists(G), list(nx.generate_gml(nx.path_graph(2)))
# %% with numpy: pagerank, matrices, layouts
nx.pagerank(G), nx.to_numpy_array(G), nx.spring_layout(G, seed=1), nx.adjacency_matrix(G), nx.eigenvector_centrality_numpy(G), nx.circular_layout(G), nx.kamada_kawai_layout(G)
